@NullMarked
package io.weir.perf.scenario;

import org.jspecify.annotations.NullMarked;
