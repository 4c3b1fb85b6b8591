@NullMarked
package io.weir.sim.records;

import org.jspecify.annotations.NullMarked;
