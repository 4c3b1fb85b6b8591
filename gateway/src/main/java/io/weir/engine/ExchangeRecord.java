package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.authentication.AuthenticationRule;
import io.weir.authentication.VerifiedToken;
import io.weir.authorization.Authorization;
import io.weir.faults.InjectedFault;
import io.weir.health.RouteHealth;
import io.weir.hedge.HedgeResult;
import io.weir.instance.Instance;
import io.weir.instance.TriedInstances;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;
import io.weir.ratelimit.Quota;
import org.jspecify.annotations.Nullable;

/**
 * The facts of one exchange: the request, and everything that observers report about it. The engine fills the
 * record in while the exchange proceeds. All facts are final when the route's observer receives the record.
 *
 * <p>Concurrency: confined to the exchange's event loop.
 */
public final class ExchangeRecord {

    private final Route route;
    private final Caller caller;
    private final long arrivedAt;
    private final Priority priority;

    Backend backend;

    @Nullable
    ExchangeTrace trace;

    @Nullable
    Reason reason;

    @Nullable
    String detail;

    @Nullable
    VerifiedToken token;

    /** How the route's authorizer has decided; null: it has not, or the route has none. */
    @Nullable
    Authorization authorization;

    @Nullable
    Quota quota;

    /** What replaces the backend's answer; null: nothing. */
    @Nullable
    Replacement replacement;

    /** The instance of the last attempt, of a backend with several; null: none yet. */
    @Nullable
    Instance instance;

    /** The instances that have failed the exchange; null: none has. */
    @Nullable
    TriedInstances tried;

    /** The last fault that was injected into an attempt; null: none was. */
    @Nullable
    InjectedFault fault;

    /** The hedge of the first attempt; null: it has none. */
    @Nullable
    Hedging hedging;

    int status;
    int attempts;
    long queueNanos;
    long backendNanos;
    long answerBytes;
    long endedAt;

    ExchangeRecord(Route route, Caller caller, long arrivedAt) {
        this.route = route;
        this.caller = caller;
        this.arrivedAt = arrivedAt;
        this.backend = route.backend();
        Priority requested = caller.received().requestedPriority();
        this.priority = requested == null ? route.priority() : requested;
    }

    void end(@Nullable Reason why, @Nullable String details, int finalStatus, long now) {
        reason = why;
        detail = details;
        status = finalStatus;
        endedAt = now;
    }

    /** The call is made on behalf of another exchange: with its identity, within its trace. */
    void beginFor(ExchangeRecord other) {
        token = other.token;
        trace = other.trace == null ? null : new AuthorizerTrace(other.trace);
    }

    void traceAttemptEnded(@Nullable Reason why, long now) {
        if (trace != null) {
            trace.attemptEnded(why, now);
        }
    }

    /** The route of the request. */
    public Route route() {
        return route;
    }

    /** The backend of the last attempt, or of the last admission if there was no attempt. */
    public Backend backend() {
        return backend;
    }

    /** The instance of the last attempt; null: the backend has one instance, or there was no attempt. */
    public @Nullable Instance instance() {
        return instance;
    }

    /** The instances that have failed the exchange; null: none has. */
    @Nullable
    TriedInstances tried() {
        return tried;
    }

    /** The exchange leaves its backend for the fallback's. */
    void leaveInstances() {
        instance = null;
        tried = null;
    }

    /** The attempt at the present instance has failed. */
    void instanceFailed() {
        Instance failed = instance;
        if (failed != null) {
            tried = new TriedInstances(failed.identity(), tried);
        }
    }

    /** The usual time of the route's calls; 0: unknown. */
    long usualNanos(long now) {
        return route.usualTime().nanos(now);
    }

    /** The health of the route; null: its backend has one route, or the exchange asks a fallback. */
    @Nullable
    RouteHealth routeHealth() {
        return fellBack() ? null : route.health();
    }

    /** As {@link RouteHealth#recoveryNanos}; 0: there is none. */
    long routeRecoveryNanos() {
        RouteHealth health = routeHealth();
        return health == null ? 0 : health.recoveryNanos();
    }

    /** The caller. */
    public Caller caller() {
        return caller;
    }

    /** The class of the call: the one that a trusted proxy has set, or the route's. */
    public Priority priority() {
        return priority;
    }

    /** The trace that receives the steps of the exchange; null: the exchange is not traced. */
    public @Nullable ExchangeTrace trace() {
        return trace;
    }

    /**
     * The reason for the gateway's own answer, a static fallback included; null: the backend's answer was
     * passed on.
     */
    public @Nullable Reason reason() {
        return reason;
    }

    /** Details of the reason; null: none. */
    public @Nullable String detail() {
        return detail;
    }

    /** The caller's quota after this request; null: the route has no rate limit, or does not enforce it. */
    public @Nullable Quota quota() {
        return quota;
    }

    /** The token that the route has accepted; null: none, or the route requires none. */
    public @Nullable VerifiedToken token() {
        return token;
    }

    /** The caller as a claim of the accepted token names it; null: no token, or it has no such claim. */
    @Nullable
    String callerBy(String claim) {
        VerifiedToken accepted = token;
        return accepted == null ? null : accepted.callerBy(claim);
    }

    /**
     * Writes the caller's verified identity into the head for the backend, if it is configured, and the
     * fields of the route's authorizer.
     */
    public void writeIdentity(HttpHeaders toBackend) {
        VerifiedToken accepted = token;
        AuthenticationRule rule = route.authentication();
        if (accepted != null && rule != null) {
            rule.writeIdentity(accepted, toBackend);
        }
        Authorizer authorizer = route.authorizer();
        Authorization decided = authorization;
        if (authorizer != null && decided != null) {
            authorizer.rule().writeGranted(decided, toBackend);
        }
    }

    /** Removes the fields that only the route's authorizer may set from the trailers of the request. */
    void removeForged(HttpHeaders trailers) {
        Authorizer authorizer = route.authorizer();
        if (authorizer != null && !trailers.isEmpty()) {
            authorizer.rule().removeForged(trailers);
        }
    }

    /** How the route's authorizer has decided; null: it has not, or the route has none. */
    public @Nullable Authorization authorization() {
        return authorization;
    }

    /** The last fault that was injected into an attempt; null: none was. */
    public @Nullable InjectedFault fault() {
        return fault;
    }

    /** What has come of the call's hedge; null: the call had its answer in time, or its route has none. */
    public @Nullable HedgeResult hedge() {
        Hedging known = hedging;
        return known == null ? null : known.result();
    }

    /** Whether a fallback or a last good answer was used. */
    public boolean fellBack() {
        return replacement != null;
    }

    /** What has replaced the backend's answer; null: nothing. */
    public @Nullable Replacement replacement() {
        return replacement;
    }

    /**
     * The reason of the refusal that was replaced; null: nothing was, or an answer of the backend with a
     * failure status.
     */
    public @Nullable Reason fallbackReason() {
        return replacement == null ? null : replacement.reason();
    }

    /** The status that the caller received; 499 if the caller left before. */
    public int status() {
        return status;
    }

    /** The number of attempts. */
    public int attempts() {
        return attempts;
    }

    /** The moment at which the request's head was decoded, on the engine's clock. */
    public long arrivedAtNanos() {
        return arrivedAt;
    }

    /** Time in queues. */
    public long queueNanos() {
        return queueNanos;
    }

    /** Time with backends, over all attempts. */
    public long backendNanos() {
        return backendNanos;
    }

    /** Total time, from the decoded head to the end. */
    public long totalNanos() {
        return endedAt - arrivedAt;
    }

    /** Bytes of the answer's body. */
    public long answerBytes() {
        return answerBytes;
    }
}
