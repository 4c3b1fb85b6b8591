/**
 * Weir: a resilience gateway that gives every backend a compartment of its own.
 *
 * <p>This package has the application alone. {@code io.weir.wiring} composes its parts.
 */
@NullMarked
package io.weir;

import org.jspecify.annotations.NullMarked;
