@NullMarked
package io.weir.perf.bench;

import org.jspecify.annotations.NullMarked;
