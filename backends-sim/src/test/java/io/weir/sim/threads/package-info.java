@NullMarked
package io.weir.sim.threads;

import org.jspecify.annotations.NullMarked;
