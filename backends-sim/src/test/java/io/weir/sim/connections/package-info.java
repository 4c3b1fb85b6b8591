@NullMarked
package io.weir.sim.connections;

import org.jspecify.annotations.NullMarked;
