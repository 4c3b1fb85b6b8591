/**
 * Weir: a resilience gateway that gives every backend a compartment of its own.
 *
 * <p>This package has the application and its wiring: one configuration class per capability, and the few
 * adapters between packages that do not see each other. Only here are the parts composed, and only here are
 * the system's clock and randomness read.
 */
@NullMarked
package io.weir;

import org.jspecify.annotations.NullMarked;
