@NullMarked
package io.weir.perf.report;

import org.jspecify.annotations.NullMarked;
