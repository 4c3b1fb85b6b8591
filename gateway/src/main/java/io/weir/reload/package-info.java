/**
 * Changes the configuration while the gateway serves.
 */
@NullMarked
package io.weir.reload;

import org.jspecify.annotations.NullMarked;
