@NullMarked
package io.weir.sim;

import org.jspecify.annotations.NullMarked;
