@NullMarked
package io.weir.perf.run;

import org.jspecify.annotations.NullMarked;
