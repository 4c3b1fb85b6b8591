@NullMarked
package io.weir.sim.faults;

import org.jspecify.annotations.NullMarked;
