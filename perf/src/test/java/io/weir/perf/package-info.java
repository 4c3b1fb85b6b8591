@NullMarked
package io.weir.perf;

import org.jspecify.annotations.NullMarked;
