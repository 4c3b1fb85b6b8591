/**
 * Applies a configuration: plans all parts that can fail, commits them at once, and retires what they replace.
 */
@NullMarked
package io.weir.live;

import org.jspecify.annotations.NullMarked;
