@NullMarked
package io.weir.perf.result;

import org.jspecify.annotations.NullMarked;
