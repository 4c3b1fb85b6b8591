@NullMarked
package io.weir.perf.simulation;

import org.jspecify.annotations.NullMarked;
