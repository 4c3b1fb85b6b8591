package io.weir.testing;

import io.weir.access.AddressRule;
import io.weir.authentication.AuthenticationRule;
import io.weir.engine.Authorizer;
import io.weir.engine.Backend;
import io.weir.engine.InFlightCounter;
import io.weir.engine.Mode;
import io.weir.engine.Route;
import io.weir.engine.RouteObserver;
import io.weir.fallback.Fallback;
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
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Builds a route. A property that a test does not set is that of a route without properties. */
public final class TestRoute {

    private final Backend backend;
    private final RouteObserver observer;
    private String id = "orders";
    private long deadlineNanos;
    private Mode mode = Mode.REQUEST;
    private @Nullable RouteHealth health;
    private @Nullable QueueingBulkhead limit;
    private @Nullable CallsPerKey callsPerKey;
    private @Nullable RetryPolicy retry;
    private @Nullable HedgePolicy hedge;
    private @Nullable Fallback fallback;
    private @Nullable Backend fallbackBackend;
    private OverdueCalls overdue = new OverdueCalls();
    private InFlightCounter inFlight = new InFlightCounter();
    private UsualTime usualTime = new UsualTime();
    private @Nullable ProbeMode probe;
    private @Nullable GuaranteedShare guaranteedShare;
    private Priority priority = Priority.NORMAL;
    private @Nullable AddressRule access;
    private @Nullable AuthenticationRule authentication;
    private @Nullable RateLimiter rateLimiter;
    private @Nullable LastGood lastGood;
    private @Nullable Authorizer authorizer;

    private TestRoute(Backend backend, RouteObserver observer) {
        this.backend = backend;
        this.observer = observer;
        this.deadlineNanos = backend.settings().deadlineNanos();
    }

    /** A route {@code orders} to a backend, with its deadline. */
    public static TestRoute to(Backend backend, RouteObserver observer) {
        return new TestRoute(backend, observer);
    }

    /** The id, in place of {@code orders}. */
    public TestRoute id(String other) {
        id = other;
        return this;
    }

    /** The route's own deadline. */
    public TestRoute deadline(Duration own) {
        deadlineNanos = own.toNanos();
        return this;
    }

    /** The part of an exchange that the deadline covers. */
    public TestRoute mode(Mode other) {
        mode = other;
        return this;
    }

    /** The route's own limit. */
    public TestRoute limit(@Nullable QueueingBulkhead own) {
        limit = own;
        return this;
    }

    /** The limit on the calls of each caller. */
    public TestRoute callsPerKey(@Nullable CallsPerKey own) {
        callsPerKey = own;
        return this;
    }

    /** The conditions of a retry. */
    public TestRoute retry(@Nullable RetryPolicy policy) {
        retry = policy;
        return this;
    }

    /** The conditions of a second attempt beside the first one. */
    public TestRoute hedge(@Nullable HedgePolicy policy) {
        hedge = policy;
        return this;
    }

    /** The answer in place of a refusal, and the backend that it asks. */
    public TestRoute fallback(@Nullable Fallback answer, @Nullable Backend other) {
        fallback = answer;
        fallbackBackend = other;
        return this;
    }

    /** The parts that learn about the route's calls. */
    public TestRoute learning(OverdueCalls calls, InFlightCounter exchanges, UsualTime time) {
        overdue = calls;
        inFlight = exchanges;
        usualTime = time;
        return this;
    }

    /** The requests that serve as probes. */
    public TestRoute probe(@Nullable ProbeMode own) {
        probe = own;
        return this;
    }

    /** The health of the route, if its backend has others. */
    public TestRoute health(@Nullable RouteHealth own) {
        health = own;
        return this;
    }

    /** The class of the route's calls. */
    public TestRoute priority(Priority own) {
        priority = own;
        return this;
    }

    /** The share of the backend's limit. */
    public TestRoute guaranteedShare(GuaranteedShare own) {
        guaranteedShare = own;
        return this;
    }

    /** The callers that may use the route, the proof of identity that it requires, and their quotas. */
    public TestRoute callers(
            @Nullable AddressRule addresses, @Nullable AuthenticationRule identity, @Nullable RateLimiter quotas) {
        access = addresses;
        authentication = identity;
        rateLimiter = quotas;
        return this;
    }

    /** The answers that replace failures. */
    public TestRoute lastGood(@Nullable LastGood answers) {
        lastGood = answers;
        return this;
    }

    /** The backend that decides whether a request may use the route. */
    public TestRoute authorizer(@Nullable Authorizer own) {
        authorizer = own;
        return this;
    }

    /** The route. */
    public Route build() {
        return new Route(
                id,
                backend,
                deadlineNanos,
                mode,
                limit,
                callsPerKey,
                retry,
                hedge,
                fallback,
                fallbackBackend,
                observer,
                overdue,
                inFlight,
                health,
                usualTime,
                probe,
                priority,
                guaranteedShare,
                access,
                authentication,
                authorizer,
                rateLimiter,
                null,
                lastGood);
    }
}
