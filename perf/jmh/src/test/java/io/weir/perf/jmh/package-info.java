@NullMarked
package io.weir.perf.jmh;

import org.jspecify.annotations.NullMarked;
