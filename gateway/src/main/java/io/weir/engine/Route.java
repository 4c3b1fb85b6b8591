package io.weir.engine;

import io.weir.access.AddressRule;
import io.weir.authentication.AuthenticationRule;
import io.weir.fallback.Fallback;
import io.weir.fallback.StaticAnswer;
import io.weir.health.ProbeMode;
import io.weir.health.RouteHealth;
import io.weir.hedge.HedgePolicy;
import io.weir.lastgood.LastGood;
import io.weir.limit.GuaranteedShare;
import io.weir.limit.OverdueCalls;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.UsualTime;
import io.weir.ratelimit.CallsPerKey;
import io.weir.ratelimit.RateLimiter;
import io.weir.retry.RetryPolicy;
import org.jspecify.annotations.Nullable;

/**
 * One route to a backend: everything that the engine needs to know about it. Immutable, except what the
 * engine learns about its calls: their usual time, and those that are overdue.
 *
 * @param id the route's id in Spring Cloud Gateway
 * @param backend the backend that answers
 * @param deadlineNanos time for one exchange: the backend's deadline, or the route's shorter one
 * @param mode the part of an exchange that the deadline covers
 * @param limit the route's own limit on concurrent calls, without a queue; null: none
 * @param callsPerKey the limit on the calls of each caller; null: none
 * @param retry the conditions of a retry; null: never
 * @param hedge the conditions of a second attempt beside the first one; null: never
 * @param fallback the answer in place of a refusal; null: none
 * @param fallbackBackend the backend that the fallback asks; null: none
 * @param observer receives every exchange of the route
 * @param overdue the calls of the route that its backend leaves unanswered
 * @param inFlight the exchanges in flight on this route
 * @param health the health of the route; null: the backend has no other route
 * @param usualTime the usual time of the route's calls in the backend
 * @param probe the requests that serve as probes of an open breaker; null: the backend's setting
 * @param priority the class of the route's calls, unless a trusted proxy sets another one
 * @param access the callers that may use the route; null: anybody
 * @param authentication the proof of identity that the route requires; null: none
 * @param authorizer the backend that decides whether a request may use the route; null: none
 * @param rateLimiter the quotas of the route's callers; null: none
 * @param answer the route's own answer, for which no backend is asked; null: none
 * @param lastGood the answers that replace failures; null: none
 */
public record Route(
        String id,
        Backend backend,
        long deadlineNanos,
        Mode mode,
        @Nullable QueueingBulkhead limit,
        @Nullable CallsPerKey callsPerKey,
        @Nullable RetryPolicy retry,
        @Nullable HedgePolicy hedge,
        @Nullable Fallback fallback,
        @Nullable Backend fallbackBackend,
        RouteObserver observer,
        OverdueCalls overdue,
        InFlightCounter inFlight,
        @Nullable RouteHealth health,
        UsualTime usualTime,
        @Nullable ProbeMode probe,
        Priority priority,
        @Nullable GuaranteedShare guaranteedShare,
        @Nullable AddressRule access,
        @Nullable AuthenticationRule authentication,
        @Nullable Authorizer authorizer,
        @Nullable RateLimiter rateLimiter,
        @Nullable StaticAnswer answer,
        @Nullable LastGood lastGood) {}
