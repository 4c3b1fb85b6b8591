@NullMarked
package io.weir.sim.stack;

import org.jspecify.annotations.NullMarked;
