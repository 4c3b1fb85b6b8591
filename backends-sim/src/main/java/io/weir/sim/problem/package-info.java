/**
 * How every stack says no: RFC 9457 problems with the same words, whichever framework found the fault.
 *
 * <p>Capabilities throw {@link io.weir.sim.problem.Refusal}; {@code Problems} is the one place that makes answers of
 * exceptions. It names only exceptions that both Spring MVC and WebFlux know, so that one class serves both.
 */
@NullMarked
package io.weir.sim.problem;

import org.jspecify.annotations.NullMarked;
