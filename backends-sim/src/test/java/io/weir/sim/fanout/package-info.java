@NullMarked
package io.weir.sim.fanout;

import org.jspecify.annotations.NullMarked;
