/**
 * Weir: a resilience gateway that gives every backend a compartment of its own.
 *
 * <p>This package has the application and its wiring: one configuration class per capability, and the few
 * adapters between packages that do not see each other. This package alone composes the parts, and reads the
 * system's clock and randomness.
 */
@NullMarked
package io.weir;

import org.jspecify.annotations.NullMarked;
