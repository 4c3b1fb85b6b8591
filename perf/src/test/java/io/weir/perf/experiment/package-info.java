@NullMarked
package io.weir.perf.experiment;

import org.jspecify.annotations.NullMarked;
