/**
 * The one vocabulary: a {@link io.weir.outcome.Reason} for every answer that the gateway makes itself, and the
 * answer made of it.
 *
 * <p>The same word stands in the problem's {@code type}, in {@code Proxy-Status}, in the metrics' {@code outcome} tag,
 * in the access log, in alerts and in runbooks. Whoever is paged by {@code circuit-open} finds {@code circuit-open}
 * wherever they look next.
 *
 * <p>A refusal costs next to nothing: everything about it that does not depend on the moment is bytes made when the
 * class is loaded. What does depend on the moment, the time after which to try again, is written between them.
 *
 * <p>A backend's own error is no reason: it passes through untouched, and shows as the class of its status.
 */
@NullMarked
package io.weir.outcome;

import org.jspecify.annotations.NullMarked;
