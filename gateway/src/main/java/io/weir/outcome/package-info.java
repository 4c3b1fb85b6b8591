/**
 * The vocabulary of outcomes: a {@link io.weir.outcome.Reason} for every answer that the gateway creates
 * itself, and the answer for each reason.
 *
 * <p>The same word is used in the problem's {@code type}, in {@code Proxy-Status}, in the metrics' {@code
 * outcome} tag, in the access log, in alerts and in runbooks. An engineer who is paged by {@code
 * circuit-open} finds {@code circuit-open} in each of them.
 *
 * <p>A refusal costs almost nothing: all parts of it that do not depend on the request are bytes, built when
 * the class is loaded. Only the request's id, the detail and the time for {@code Retry-After} are written for
 * each refusal.
 *
 * <p>A backend's own error has no reason: it is passed on unchanged, and shown as the class of its status.
 */
@NullMarked
package io.weir.outcome;

import org.jspecify.annotations.NullMarked;
