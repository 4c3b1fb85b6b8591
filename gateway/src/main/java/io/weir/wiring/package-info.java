/**
 * The wiring: one configuration class per capability, and the few adapters between packages that do not see
 * each other. Besides the application, this package alone composes the parts. It alone reads the system's
 * clock and randomness.
 */
@NullMarked
package io.weir.wiring;

import org.jspecify.annotations.NullMarked;
