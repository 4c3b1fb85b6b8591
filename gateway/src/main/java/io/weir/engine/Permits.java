package io.weir.engine;

import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.health.RouteHealth;
import io.weir.limit.Limit.Evidence;
import io.weir.limit.OverdueCalls;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import io.weir.ratelimit.CallsPerKey;
import io.weir.slowcaller.SlowCaller;
import org.jspecify.annotations.Nullable;

/**
 * The permits of an admission: the route's, that of the streams, and the bulkhead's, which is at the same
 * time a sample of the backend's limit.
 *
 * <pre>
 *  request                       permits
 *  ordinary                      the route's, the bulkhead's
 *  asks for an upgrade           the route's, the streams', the bulkhead's until {@link #upgraded}
 *  of a route in stream mode     the route's, the streams'
 * </pre>
 *
 * <p>Before all of them, the call takes one of the places of its caller, where the route bounds those. It
 * keeps the place while it waits for its permits, and until they return.
 *
 * <p>The bulkhead's permit is in one of these states:
 *
 * <pre>
 *  NONE ── acquire, granted ──► HELD ── upgraded, of a route that hangs ──► NONE
 *    │                           ├───── left behind ──► LEFT_BEHIND ── release ──► NONE
 *    └──── a scout ──► MOVED ◄───┴ held up by its caller
 * </pre>
 *
 * <p>{@link #release} gives back what is held at that moment, whatever ends the call: an answer, a deadline,
 * a caller who leaves. A second release does nothing. A breaker that opens gives back the permits of all
 * calls in flight, and ends their generation; the release of such a call skips the permit.
 *
 * <p>Concurrency: confined to the exchange's event loop.
 */
final class Permits {

    /** The state of the bulkhead's permit. */
    private enum CallPermit {
        /** Not acquired, not needed (by a stream, or a probe), or given back. */
        NONE,
        HELD,
        /** The call has a stream's permit in its place, and its end is no sample. */
        MOVED,
        /** As {@link #MOVED}, but the end of the call is still a sample of the limit. */
        LEFT_BEHIND
    }

    /** The use of the permits by an attempt. */
    private enum Use {
        UNUSED,
        USED,
        /** The time of the call is a sample of the backend's service time. */
        SAMPLED
    }

    private final ExchangeContext exchange;
    private final Backend backend;
    private final InstanceEntry entry;
    private final QueueRank rank;

    private CallPermit call = CallPermit.NONE;
    private Use use = Use.UNUSED;
    private boolean holdsRoutePermit;
    private boolean holdsStreamPermit;
    /** The call counts among those of a route that hangs. */
    private boolean countsAsOverdue;

    /** The mark of the permit's sample; it has no meaning before the permit is held. */
    private int limitMark;
    /** The evidence of the call's end about the backend's limit, so far. */
    private Evidence evidence = Evidence.NONE;

    /** Null: the bulkhead is enforced, or its permit is not held. */
    private @Nullable BulkheadDryRun dryRun;

    /** The key with which the call counts among those of its caller; null: it does not. */
    private @Nullable String callersKey;

    private long queueNanos;
    private long firstAttemptAt;
    private long callerNanos;

    Permits(ExchangeContext exchange, Backend backend, InstanceEntry entry, QueueRank rank) {
        this.exchange = exchange;
        this.backend = backend;
        this.entry = entry;
        this.rank = rank;
    }

    /** Takes one of the caller's places, before the call asks for permits; null: it may proceed. */
    @Nullable
    Refuse enterForCaller() {
        ExchangeRecord record = exchange.record();
        CallsPerKey calls = record.route().callsPerKey();
        if (calls == null || record.fellBack()) {
            return null;
        }
        Caller caller = record.caller();
        String key = calls.key(caller.received().headers(), caller.received()::callerNetwork, record::callerBy);
        if (!calls.tryEnter(key)) {
            if (backend.enforces(calls.isEnforced(), Reason.BULKHEAD_FULL)) {
                calls.countRefusal();
                return Refuse.CALLER_FULL;
            }
            calls.enterAnyway(key);
        }
        callersKey = key;
        return null;
    }

    /**
     * Acquires the permits of a hedge if all of them are free at once; else none is held. A hedge takes one
     * of its caller's places, too, since the first attempt may give its place back before.
     */
    boolean tryAcquireAtOnce(long now) {
        CallsPerKey calls = exchange.record().route().callsPerKey();
        if (calls != null) {
            Caller caller = exchange.record().caller();
            String key = calls.key(
                    caller.received().headers(), caller.received()::callerNetwork, exchange.record()::callerBy);
            if (!calls.tryEnter(key)) {
                return false;
            }
            callersKey = key;
        }
        boolean isAdmitted = acquire(false, now) == Step.ADMIT;
        if (!isAdmitted) {
            leaveForCaller();
        }
        return isAdmitted;
    }

    /**
     * Acquires the permits of a call that has not waited.
     *
     * @param mayBeScout whether the call may go beyond the limit if nothing is answered
     * @return {@link Step#ADMIT}: all are held; {@link Step#QUEUE}: the bulkhead is full, and none is held; a
     *     refusal: none is held
     */
    Decision acquire(boolean mayBeScout, long now) {
        Refuse full = acquireCaps(now);
        if (full != null) {
            return full;
        }
        if (!exchange.isCall()) {
            return Step.ADMIT;
        }
        if (acquireDryRun() || backend.bulkhead().tryAcquire()) {
            hold(now);
            return Step.ADMIT;
        }
        if (mayBeScout && !holdsStreamPermit && LeftBehind.trySendScout(backend, exchange.record(), now)) {
            call = CallPermit.MOVED;
            takeStreamPermit(MoveReason.SCOUT);
            return Step.ADMIT;
        }
        releaseCaps();
        releaseOverdue();
        return Step.QUEUE;
    }

    /**
     * Holds the bulkhead's permit, which was granted after a wait, and acquires the others.
     *
     * @return null: all are held; a refusal: the bulkhead's is held
     */
    @Nullable
    Refuse granted(long waitedNanos, long now) {
        queueNanos = waitedNanos;
        hold(now);
        return acquireCaps(now);
    }

    private void hold(long now) {
        call = CallPermit.HELD;
        rank.permitHeld();
        limitMark = backend.limit().started(now);
        backend.limit().pace().sent(now);
    }

    /** Acquires a permit regardless of the limit if the bulkhead is not enforced. */
    private boolean acquireDryRun() {
        QueueingBulkhead counting = backend.bulkhead().dryRun();
        if (counting == null || !backend.bulkhead().acquireAnyway()) {
            return false;
        }
        dryRun = BulkheadDryRun.begin(counting, backend, exchange.loop(), rank);
        return true;
    }

    /** Acquires the permits that have no queue; null: all are held; a refusal: none is held. */
    private @Nullable Refuse acquireCaps(long now) {
        if (!tryAcquireRoutePermit()) {
            return Refuse.ROUTE_FULL;
        }
        if (tryAcquireStreamPermit() && tryAcquireOverdue(now)) {
            return null;
        }
        Refuse full = exchange.isStream() && !holdsStreamPermit ? Refuse.STREAMS_FULL : Refuse.ROUTE_HANGS;
        releaseCaps();
        return full;
    }

    private boolean tryAcquireRoutePermit() {
        QueueingBulkhead limit = exchange.record().route().limit();
        if (limit == null || exchange.record().fellBack()) {
            // A fallback has its own limit.
            return true;
        }
        holdsRoutePermit = limit.tryAcquire()
                || (!backend.enforces(limit.isEnforced(), Reason.BULKHEAD_FULL) && limit.acquireAnyway());
        return holdsRoutePermit;
    }

    private boolean tryAcquireStreamPermit() {
        if (!exchange.isStream()) {
            return true;
        }
        holdsStreamPermit = backend.streams().tryAcquire();
        if (!holdsStreamPermit && !backend.enforcesLimits()) {
            holdsStreamPermit = backend.streams().acquireAnyway();
        }
        return holdsStreamPermit;
    }

    /** If the call's route hangs, its calls hold at most half of the limit. */
    private boolean tryAcquireOverdue(long now) {
        if (!overdue().isHanging(now) || !exchange.isCall() || exchange.record().fellBack()) {
            return true;
        }
        countsAsOverdue = overdue().tryAcquire(backend.bulkhead().maxConcurrentCalls());
        return countsAsOverdue || !backend.enforcesLimits();
    }

    /** The call has waited for the stall duration, and still waits. */
    void becameOverdue() {
        if (call == CallPermit.HELD && !countsAsOverdue && !exchange.record().fellBack()) {
            countsAsOverdue = true;
            overdue().add();
        }
    }

    /** Whether the call holds the bulkhead's permit. */
    boolean holdsCallPermit() {
        return call == CallPermit.HELD;
    }

    /** Records that an attempt starts to use the permits. */
    void attemptStarts(long now) {
        if (use == Use.UNUSED) {
            use = Use.USED;
            firstAttemptAt = now;
        }
    }

    /** Time for which an attempt has used the permits, without that of its caller. */
    long backendNanos(long now) {
        return use == Use.UNUSED ? 0 : Math.max(0, now - firstAttemptAt - callerNanos);
    }

    /** Excludes from the backend's time the time for which an attempt waited for its caller. */
    void exclude(long nanos) {
        callerNanos += nanos;
    }

    /**
     * Makes the time of the call a sample of the backend's service time: the backend has answered, or has let
     * the deadline pass. Other ends, such as a caller that leaves or a refused connection, give no sample.
     *
     * @param end the evidence of this end about the backend's limit
     */
    void markSample(Evidence end) {
        use = use == Use.UNUSED ? Use.UNUSED : Use.SAMPLED;
        evidence = end;
    }

    /** The call has no answer; its end may be evidence about the backend's limit. */
    void markUnanswered(Evidence end) {
        evidence = end;
    }

    /** Whether the call holds the bulkhead's permit and no stream's, so that it can exchange the two. */
    boolean isMovable() {
        return call == CallPermit.HELD && !holdsStreamPermit;
    }

    /**
     * Takes a stream's permit for a call that its caller holds up, and gives back the bulkhead's and the
     * route's. The bulkhead's is a sample of the limit if the answer has begun.
     *
     * @param soFar what the answer says about the backend's limit
     * @param nanos the time that the backend has taken so far, without that of the caller
     * @return whether it has done so; nothing changes if the limit of streams is reached
     */
    boolean moveHeldUp(Evidence soFar, long nanos, long now) {
        return move(MoveReason.HELD_UP, CallPermit.MOVED, soFar, nanos, now);
    }

    /**
     * Moves a call that the backend leaves behind to the streams, if there is room. It is still one of the
     * route's calls in the backend, and its end is a sample of the limit.
     */
    void moveLeftBehind(long now) {
        long nanos = backendNanos(now);
        if (move(MoveReason.LEFT_BEHIND, CallPermit.LEFT_BEHIND, Evidence.NONE, nanos, now)) {
            backend.limit().leftBehind(nanos, now);
        }
    }

    private boolean move(MoveReason reason, CallPermit to, Evidence soFar, long nanos, long now) {
        if (!isMovable() || !backend.streams().tryAcquire()) {
            return false;
        }
        takeStreamPermit(reason);
        if (reason == MoveReason.HELD_UP) {
            releaseRoutePermit();
        }
        evidence = soFar;
        releaseCallPermit(to, nanos, now);
        entry.countStream();
        return true;
    }

    /** Records a permit of the streams that a call has taken in place of the bulkhead's. */
    private void takeStreamPermit(MoveReason reason) {
        holdsStreamPermit = true;
        exchange.heldUp().movedTo(backend.streams());
        backend.observer().movedToStreams(reason);
    }

    /** The backend has opened the tunnel: the call becomes a stream, and gives the bulkhead's permit back. */
    void upgraded(long now) {
        if (call == CallPermit.HELD) {
            markSample(Evidence.ANSWERED);
            long nanos = backendNanos(now);
            recordCall(nanos);
            releaseCallPermit(CallPermit.NONE, nanos, now);
            entry.countStream();
        }
    }

    /** Gives the bulkhead's permit back if the call is one of this route: it hangs, and waits on without. */
    void giveBackIfOf(RouteHealth stalled, long now) {
        if (call == CallPermit.HELD && entry.isOf(stalled) && backend.bulkhead().isEnforced()) {
            evidence = Evidence.NONE;
            releaseCallPermit(CallPermit.NONE, backendNanos(now), now);
        }
    }

    /** Gives back everything that is held. */
    void release(long now) {
        leaveForCaller();
        releaseCaps();
        long nanos = backendNanos(now);
        if (use != Use.UNUSED) {
            exchange.record().backendNanos += nanos;
            if (call != CallPermit.NONE) {
                recordCall(nanos);
            }
            use = Use.UNUSED;
        }
        if (call == CallPermit.HELD) {
            releaseCallPermit(CallPermit.NONE, nanos, now);
        } else if (call == CallPermit.LEFT_BEHIND) {
            // A call that hung to its end says nothing.
            backend.limit().ended(now, limitMark, nanos, evidence == Evidence.ANSWERED ? evidence : Evidence.NONE);
        }
        call = CallPermit.NONE;
        rank.permitReturned();
        releaseOverdue();
    }

    private void recordCall(long nanos) {
        backend.observer().served(nanos);
        if (use == Use.SAMPLED) {
            backend.serviceTime().recordWait(queueNanos);
            backend.serviceTime().recordServed(nanos);
        }
    }

    private void releaseCallPermit(CallPermit to, long nanos, long now) {
        if (dryRun != null) {
            dryRun.end();
            dryRun = null;
        }
        rank.permitReturned();
        boolean ownsPermit = entry.leaveGeneration();
        // A call whose permit the breaker has given back hung: the breaker's evidence, not the limit's. A
        // route that hangs while others are answered is no sign of overload, and neither is an instance that
        // fails alone.
        boolean hung = !ownsPermit
                || (countsAsOverdue
                        && evidence == Evidence.TIMED_OUT
                        && overdue().isHanging(now))
                || entry.failsAlone(evidence, now);
        releaseOverdue();
        call = hung && to == CallPermit.LEFT_BEHIND ? CallPermit.MOVED : to;
        if (call != CallPermit.LEFT_BEHIND) {
            backend.limit().ended(now, limitMark, nanos, hung ? Evidence.NONE : evidence);
        }
        if (ownsPermit) {
            backend.bulkhead().release();
        }
    }

    private OverdueCalls overdue() {
        return exchange.record().route().overdue();
    }

    private void releaseCaps() {
        releaseRoutePermit();
        if (holdsStreamPermit) {
            holdsStreamPermit = false;
            SlowCaller slow = exchange.slowCaller();
            if (slow != null) {
                slow.movedTo(null);
            }
            backend.streams().release();
        }
    }

    private void releaseRoutePermit() {
        QueueingBulkhead limit = exchange.record().route().limit();
        if (holdsRoutePermit && limit != null) {
            holdsRoutePermit = false;
            limit.release();
        }
    }

    private void leaveForCaller() {
        CallsPerKey calls = exchange.record().route().callsPerKey();
        String key = callersKey;
        if (key != null && calls != null) {
            callersKey = null;
            calls.leave(key);
        }
    }

    private void releaseOverdue() {
        if (countsAsOverdue) {
            countsAsOverdue = false;
            overdue().release();
        }
    }
}
