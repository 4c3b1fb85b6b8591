/**
 * Error answers: RFC 9457 problems with the same texts in every stack, whichever framework detects the error.
 *
 * <p>Capabilities throw {@link io.weir.sim.problem.ProblemException}. {@code ProblemAdvice} is the only place
 * that converts exceptions to answers. It refers only to exceptions that both Spring MVC and WebFlux know, so
 * that one class serves both.
 */
@NullMarked
package io.weir.sim.problem;

import org.jspecify.annotations.NullMarked;
