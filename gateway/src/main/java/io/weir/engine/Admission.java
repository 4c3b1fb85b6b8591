package io.weir.engine;

import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.health.Generation;
import io.weir.health.Health;
import io.weir.health.Probe;
import io.weir.health.RouteHealth;
import io.weir.instance.HashKey;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.TriedInstances;
import io.weir.limit.Limit.Evidence;
import io.weir.limit.OverdueCalls;
import io.weir.limit.PauseAllowance;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.Tenants;
import io.weir.outcome.Reason;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The admission of an exchange to a backend: a check of the breaker, the route's own limit, the limit of
 * streams, then the backend's bulkhead, with a wait in its queue if necessary. It holds the permits until
 * {@link #release}.
 *
 * <pre>
 *  request                       permits
 *  ordinary                      the route's, the bulkhead's
 *  asks for an upgrade           the route's, the streams', the bulkhead's until {@link #upgraded}
 *  of a route in stream mode     the route's, the streams'
 * </pre>
 *
 * <p>Only the bulkhead has a queue. A waiting exchange holds no other permit, since another exchange can use
 * that permit at once. When the bulkhead's permit arrives, the exchange acquires the other permits again.
 *
 * <p>The admission itself is the waiter in the queue. Confined to the exchange's event loop, except {@link
 * #granted()}.
 *
 * <p>The class stays whole although it has more than 400 lines: it owns all permits of an exchange, and one
 * method gives them back.
 */
final class Admission extends QueueingBulkhead.Waiter implements ExchangePhase, Runnable {

    /**
     * Each permit in vain shows that an instance has opened meanwhile, so more of them in a row are a defect.
     */
    private static final int MAX_ROUNDS_WITHOUT_ROOM = 8;

    private final Exchange exchange;
    private final Backend backend;
    private final QueueingBulkhead bulkhead;
    /** The instance that the attempt goes to; of several, chosen when the permit is held. */
    private Instance instance;
    /** The result of the attempt that is retried; null: this admission is the first one. */
    private final @Nullable RetriedResult retried;
    /** The call's class; one lower for a retry or a fallback. */
    private final Priority priority;

    /** Null: the backend has one route. */
    private final @Nullable RouteBreaker routeBreaker;
    /** The call's tenant; null: none, or the call has not had to wait. */
    private @Nullable String tenant;

    private boolean wouldRefuseCounted;
    private boolean isQueued;
    /** The limit knows that this call has waited for long. */
    private boolean isLongWaitReported;

    private boolean isPermitComing;
    private boolean holdsPermit;
    private boolean holdsRoutePermit;
    private boolean holdsStreamPermit;
    /** The call counts among those of a route that hangs. */
    private boolean countsAsOverdue;

    /** The call has exchanged the bulkhead's permit for a stream's. */
    private boolean isMoved;

    /** The call was left behind, and its end is still a sample of the limit. */
    private boolean isSampleOwed;

    private boolean isPermitUsed;
    private boolean isSample;
    /** The mark of the permit's sample; it has no meaning while no permit is held. */
    private int limitMark;
    /** The evidence of the call's end about the backend's limit, so far. */
    private Evidence evidence = Evidence.NONE;

    private @Nullable BulkheadDryRun dryRun;
    /** The request itself is a probe, outside the limit; null: it is an ordinary call. */
    private @Nullable Probe probe;
    /**
     * The generation that counts the permit; when the breaker opens, the generation gives the permit back.
     */
    private @Nullable Generation permitGeneration;
    /** The instance, of several, that counts the exchange as a stream; null: none does. */
    private @Nullable Instance streamInstance;

    private boolean foundNoRoom;
    /** Permits in a row with which the exchange found no room in any instance. */
    private int roundsWithoutRoom;

    private long queuedAt;
    private long queueNanos;
    private long firstAttemptAt;
    private long callerNanos;

    Admission(Exchange exchange, Backend backend, @Nullable RetriedResult retried) {
        this.exchange = exchange;
        this.backend = backend;
        this.bulkhead = backend.bulkhead();
        this.instance = backend.instances().first();
        this.retried = retried;
        this.routeBreaker = RouteBreaker.of(exchange.record());
        this.wouldRefuseCounted = retried != null;
        Priority own = exchange.priority();
        this.priority = retried == null && !exchange.record().fellBack() ? own : own.lower();
    }

    @Override
    protected Priority priority() {
        return priority;
    }

    @Override
    protected @Nullable String tenant() {
        return tenant;
    }

    /** Reads the call's tenant; before the call waits, since another thread reads it while the call waits. */
    void readTenant() {
        tenant = CallerHash.tenant(exchange.record());
    }

    private void countTenant(boolean admitted) {
        Tenants tenants = backend.tenants();
        String name = tenant;
        if (tenants != null && name != null) {
            tenants.count(name, admitted);
        }
    }

    /** Requests the permits. Called once. */
    Decision request(long now) {
        if (!backend.health().permits(now) && isRefusedByBreaker()) {
            return startProbeOfOpenBackend(now) ? admit(now) : refusedByBreaker();
        }
        if (routeBreaker != null && routeBreaker.refuses(now) && isRefusedByBreaker()) {
            return startProbeOfRoute(routeBreaker.health().health(), now) ? admit(now) : refusedByBreaker();
        }
        Refuse full = acquireCaps(now);
        if (full != null) {
            return full;
        }
        if (!exchange.isCall()) {
            return admit(now);
        }
        if (acquireDryRun() || bulkhead.tryAcquire()) {
            holdPermit(now);
            return admit(now);
        }
        if (retried == null && !holdsStreamPermit && LeftBehind.trySendScout(backend, usualNanos(now), now)) {
            takeStreamPermit(MoveReason.SCOUT);
            return admit(now);
        }
        releaseCaps();
        releaseOverdue();
        return enterQueue(now);
    }

    private boolean startProbeOfOpenBackend(long now) {
        Instances instances = backend.instances();
        if (instances.isSingle()) {
            instance = instances.first();
            return startProbe(now);
        }
        for (Instance open : instances.out()) {
            instance = open;
            if (startProbe(now)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Uses the refused request as a probe of the instance if one is due: a copy of it, or the request itself.
     *
     * @return whether the request itself is the probe
     */
    private boolean startProbe(long now) {
        Health health = instance.health();
        return startProbe(health, ProbeChoice.of(exchange, health.settings()), now);
    }

    /** As {@link #startProbe}, of a route that is open alone, at one of the instances that are in. */
    private boolean startProbeOfRoute(Health health, long now) {
        Instances instances = backend.instances();
        Instance chosen = instances.isSingle()
                ? instances.first()
                : instances.choose(now, exchange.record().tried(), HashKey.NONE, callsUnderWay());
        if (chosen == null) {
            return false;
        }
        instance = chosen;
        return startProbe(health, ProbeChoice.ofRoute(exchange, health.settings()), now);
    }

    private boolean startProbe(Health health, ProbeChoice choice, long now) {
        long usualNanos = usualNanos(now);
        switch (choice) {
            case SHADOW -> {
                Probe shadow = health.probes().tryStart(now, usualNanos, false);
                if (shadow != null) {
                    ProbeChoice.sendShadow(exchange, backend, instance, shadow);
                }
            }
            case CALLER -> probe = health.probes().tryStart(now, usualNanos, true);
            case LAST_RESORT -> probe = health.probes().tryStartLastResort(now, usualNanos);
            case NONE -> {
                // The health prober sends the probes.
            }
        }
        return probe != null;
    }

    /**
     * Whether the breaker refuses the request, so that the caller need not send the body first. The only side
     * effect is that refusals which are not enforced are counted.
     */
    boolean isRefusedBeforeReading(long now) {
        Health health = backend.health();
        if (health.permits(now)) {
            return routeBreaker != null
                    && routeBreaker.refuses(now)
                    && isRefusedByBreaker()
                    && !routeBreaker.isProbeDue(exchange, usualNanos(now), now);
        }
        return isRefusedByBreaker()
                && !ProbeChoice.isDue(ProbeChoice.of(exchange, health.settings()), health, usualNanos(now), now);
    }

    /** Whether all permits are in use, and all places in the queue. */
    boolean isBulkheadFull() {
        long now = exchange.now();
        return backend.dryRunBulkhead() == null
                && bulkhead.inUse() >= bulkhead.maxConcurrentCalls()
                && bulkhead.queued() >= bulkhead.queueCapacity() + placesAfterPause(now)
                && !LeftBehind.isScoutDue(backend, usualNanos(now), now);
    }

    /** The refusal of the breaker, which counts in its metrics, or of the route's. */
    Refuse refusedByBreaker() {
        Refuse ofRoute = routeBreaker != null && backend.health().isIn() ? routeBreaker.refusal() : null;
        if (ofRoute != null) {
            return ofRoute;
        }
        backend.health().refused();
        return Refuse.CIRCUIT_OPEN;
    }

    private long usualNanos(long now) {
        return exchange.record().route().usualTime().nanos(now);
    }

    /** Places beyond the capacity of the queue, if there is one, for what came while the gateway paused. */
    private int placesAfterPause(long now) {
        long paused = exchange.inFlightOnLoop().pauses().recentNanos(now);
        return paused <= 0 || bulkhead.queueCapacity() == 0
                ? 0
                : PauseAllowance.places(paused, bulkhead.maxConcurrentCalls(), usualNanos(now));
    }

    private Decision enterQueue(long now) {
        if (backend.settings().maxWaitNanos() <= 0) {
            backend.limit().waited(now, now);
            return Refuse.BULKHEAD_FULL;
        }
        if (spareNanos(now) <= 0) {
            return Refuse.TOO_LITTLE_TIME;
        }
        readTenant();
        isQueued = true;
        queuedAt = now;
        return switch (bulkhead.enter(this, placesAfterPause(now))) {
            case GRANTED -> permitGranted();
            case FULL -> {
                isQueued = false;
                countTenant(false);
                backend.limit().waited(now, now);
                yield Refuse.BULKHEAD_FULL;
            }
            case QUEUED -> Step.QUEUE;
        };
    }

    /** Whether a refusal of the breaker is enforced. A refusal that is not enforced is counted, once. */
    boolean isRefusedByBreaker() {
        if (backend.settings().enforcement().circuitBreaker()) {
            return true;
        }
        if (!wouldRefuseCounted) {
            wouldRefuseCounted = true;
            backend.observer().wouldRefuse(Reason.CIRCUIT_OPEN);
        }
        return false;
    }

    /** Acquires a permit regardless of the limit if the bulkhead is not enforced. */
    private boolean acquireDryRun() {
        QueueingBulkhead counting = backend.dryRunBulkhead();
        if (counting == null) {
            return false;
        }
        dryRun = BulkheadDryRun.begin(counting, backend, exchange.loop(), this);
        return bulkhead.acquireAnyway();
    }

    @Override
    protected void granted() {
        // Always a separate task, even on this event loop: the exchange that released the permit is still
        // ending.
        try {
            exchange.loop().execute(this);
        } catch (RejectedExecutionException e) {
            // The event loop has stopped with the gateway: the permit goes to the next waiter.
            bulkhead.release();
        }
    }

    @Override
    protected void evicted() {
        try {
            exchange.loop().execute(this);
        } catch (RejectedExecutionException e) {
            // The gateway and its event loops have stopped, and the exchange with them.
        }
    }

    /** The granted permit, or the loss of the place in the queue, has reached the exchange's event loop. */
    @Override
    public void run() {
        if (isEvicted()) {
            if (isQueued) {
                backend.limit().waited(exchange.now(), queuedAt);
                exchange.apply(Refuse.QUEUE_EVICTED);
            }
        } else if (isQueued) {
            exchange.apply(permitGranted());
        } else {
            // The admission ended while the permit was on its way.
            bulkhead.release();
        }
    }

    private Decision permitGranted() {
        long now = exchange.now();
        holdPermit(now);
        endWait(now, true);
        Refuse full = acquireCaps(now);
        return full == null ? admit(now) : full;
    }

    private void holdPermit(long now) {
        holdsPermit = true;
        limitMark = backend.limit().started(now);
        backend.limit().pace().sent(now);
    }

    private Decision admit(long now) {
        long left = exchange.timer().leftNanos(now);
        if (left <= 0) {
            return Refuse.DEADLINE_EXCEEDED;
        }
        backend.observer().dispatched(priority, queueNanos, left);
        if (retried == null) {
            backend.retryBudget().deposit();
        }
        return Step.ADMIT;
    }

    /**
     * Enters the backend for an attempt.
     *
     * @return the evidence of the attempt; null: the breaker refuses it, or {@link #foundNoRoom}
     */
    @Nullable
    HealthEvidence enterBackend(long now) {
        RouteBreaker route = routeBreaker;
        if (route != null && probe == null && !route.enter(now) && isRefusedByBreaker()) {
            return null;
        }
        HealthEvidence evidence = enterInstances(now);
        if (evidence != null) {
            evidence.countFor(route);
        } else if (route != null) {
            route.leave();
        }
        return evidence;
    }

    private @Nullable HealthEvidence enterInstances(long now) {
        if (probe == null) {
            Instances instances = backend.instances();
            if (!instances.isSingle()) {
                return enterInstance(instances, now);
            }
            // The instances may have changed while the call waited.
            instance = instances.first();
        }
        Health health = instance.health();
        Probe started = probe;
        if (started != null) {
            return HealthEvidence.ofProbe(health, started, exchange, now);
        }
        boolean countsPermit = holdsPermit && permitGeneration == null;
        Generation generation = health.enter(now, countsPermit);
        if (countsPermit) {
            permitGeneration = generation;
        }
        if (generation != null) {
            return HealthEvidence.ofCall(health, generation, null, exchange, now);
        }
        return enterOpenBackend(health, now);
    }

    /** Chooses one of several instances, and enters it. */
    private @Nullable HealthEvidence enterInstance(Instances instances, long now) {
        TriedInstances tried = exchange.record().tried();
        Instance asked = startProbeOfOpenInstance(instances, now);
        if (asked != null && probe != null) {
            instance = asked;
            exchange.record().instance = asked;
            return HealthEvidence.ofProbe(asked.health(), probe, exchange, now);
        }
        Instance chosen = instances.choose(now, tried, hash(instances), callsUnderWay());
        HealthEvidence entered = chosen == null ? null : enter(chosen, now);
        if (entered != null) {
            return entered;
        }
        // The instance has opened or become full since the choice, or the configuration has changed.
        boolean isOneIn = false;
        for (Instance other : instances.all()) {
            entered = enter(other, now);
            if (entered != null) {
                return entered;
            }
            isOneIn |= other.isIn();
        }
        if (isOneIn) {
            foundNoRoom = true;
            return null;
        }
        // Without enforcement the call is sent all the same, but not to an instance that an operator drained.
        instance = instance.health().isDrained() ? instances.firstUndrained() : instance;
        exchange.record().instance = instance;
        return enterOpenBackend(instance.health(), now);
    }

    private @Nullable HealthEvidence enter(Instance chosen, long now) {
        // Without enforcement, calls exceed the limits.
        Generation generation = holdsPermit && backend.dryRunBulkhead() == null
                ? chosen.health().caps().enterBelowCap(now)
                : chosen.health().enter(now, holdsPermit);
        if (generation == null) {
            return null;
        }
        instance = chosen;
        chosen.sent(now);
        permitGeneration = holdsPermit ? generation : null;
        if (!holdsPermit) {
            countStream();
        }
        exchange.record().instance = chosen;
        return HealthEvidence.ofCall(chosen.health(), generation, chosen, exchange, now);
    }

    private long hash(Instances instances) {
        HashKey key = instances.hashKey();
        Caller caller = exchange.record().caller();
        return key == null ? HashKey.NONE : key.hash(caller.headers(), caller::callerNetwork);
    }

    private int callsUnderWay() {
        return bulkhead.inUse() + backend.streams().inUse();
    }

    /**
     * Whether the exchange has a permit, but all instances that are in have as many calls as an instance may
     * have: an instance has opened since the permit was granted.
     */
    boolean foundNoRoom() {
        return foundNoRoom;
    }

    /**
     * Gives all permits back, and puts the limit in force that follows from the instances which are in now.
     *
     * @return the admission that requests another permit; null: too many permits were in vain
     */
    @Nullable
    Admission withoutRoom(long now) {
        backend.health().role().refresh();
        release(null, now);
        if (roundsWithoutRoom == MAX_ROUNDS_WITHOUT_ROOM) {
            return null;
        }
        Admission next = new Admission(exchange, backend, retried);
        next.roundsWithoutRoom = roundsWithoutRoom + 1;
        return next;
    }

    /** Counts the exchange as a stream in its instance, until it ends. */
    private void countStream() {
        if (streamInstance == null && !backend.instances().isSingle()) {
            streamInstance = instance;
            instance.streamBegan();
        }
    }

    /**
     * Probes the instances that are out, as far as probes are due: with copies of the request, or rarely with
     * the request itself.
     *
     * @return the instance that the request itself probes; null: none
     */
    private @Nullable Instance startProbeOfOpenInstance(Instances instances, long now) {
        for (Instance open : instances.out()) {
            Health health = open.health();
            switch (ProbeChoice.of(exchange, health.settings())) {
                case SHADOW -> {
                    Probe shadow = health.probes().tryStart(now, usualNanos(now), false);
                    if (shadow != null) {
                        ProbeChoice.sendShadow(exchange, backend, open, shadow);
                    }
                }
                case CALLER, LAST_RESORT -> {
                    probe = health.probes().tryStartRare(now, usualNanos(now));
                    if (probe != null) {
                        return open;
                    }
                }
                case NONE -> {
                    // The health prober sends the probes.
                }
            }
        }
        return null;
    }

    private @Nullable HealthEvidence enterOpenBackend(Health health, long now) {
        // While a breaker without enforcement is open, some calls serve as its probes. It would have refused
        // the others.
        return isRefusedByBreaker()
                ? null
                : HealthEvidence.ofUnenforced(
                        health, health.probes().tryStart(now, usualNanos(now), true), exchange, now);
    }

    /** The instance that the attempt goes to. */
    Instance instance() {
        return instance;
    }

    /** Records that an attempt starts to use the permit. */
    void attemptStarts(long now) {
        if (!isPermitUsed) {
            isPermitUsed = true;
            firstAttemptAt = now;
        }
    }

    @Override
    public long backendNanos(long now) {
        return isPermitUsed ? now - firstAttemptAt - callerNanos : 0;
    }

    /** Excludes from the backend's time the time for which an attempt waited for its caller. */
    void exclude(long nanos) {
        callerNanos += nanos;
    }

    /**
     * Whether the call holds the bulkhead's permit and no stream's, so that it can exchange the one for the
     * other.
     */
    boolean isMovable() {
        return holdsPermit && !holdsStreamPermit;
    }

    /**
     * Takes a stream's permit, and gives back the bulkhead's. A call that its caller holds up gives the
     * route's back, too; one that is left behind is still one of the route's calls in the backend. The
     * permit's end is a sample of the limit if the answer has begun.
     *
     * @param soFar what the answer says about the backend's limit
     * @param nanos the time that the backend has taken so far, without that of the caller
     * @return whether it has done so; nothing changes if the limit of streams is reached
     */
    boolean moveToStreams(MoveReason reason, Evidence soFar, long nanos, long now) {
        if (!isMovable() || !backend.streams().tryAcquire()) {
            return false;
        }
        takeStreamPermit(reason);
        endDryRun();
        if (reason == MoveReason.HELD_UP) {
            releaseRoutePermit();
        }
        evidence = soFar;
        releasePermit(now, nanos);
        countStream();
        return true;
    }

    /** Records a permit of the streams that a call has taken in place of the bulkhead's. */
    private void takeStreamPermit(MoveReason reason) {
        holdsStreamPermit = true;
        isMoved = true;
        exchange.heldUp().movedTo(backend.streams());
        backend.observer().movedToStreams(reason);
    }

    /**
     * Moves a call that the backend leaves behind to the streams, if there is room: it takes no permit from
     * calls that are answered. A fixed limit is exact: there the call keeps its permit.
     */
    void leaveBehind(long now) {
        if (backend.limit().isAdaptive() && LeftBehind.hasRoom(backend)) {
            // The end of the permit is no sample then; where it must never be one, it clears the field.
            isSampleOwed = true;
            long nanos = Math.max(0, backendNanos(now));
            boolean hasMoved = moveToStreams(MoveReason.LEFT_BEHIND, Evidence.NONE, nanos, now);
            isSampleOwed &= hasMoved;
            if (hasMoved) {
                backend.limit().leftBehind(nanos, now);
            }
        }
    }

    /**
     * Makes the time of the call a sample of the backend's service time: the backend has answered, or has let
     * the deadline pass. Other ends, such as a caller that leaves or a refused connection, give no sample.
     *
     * @param end the evidence of this end about the backend's limit
     */
    void markSample(Evidence end) {
        isSample = true;
        evidence = end;
    }

    /** The call has no answer; its end may still be evidence about the backend's limit. */
    void markUnanswered(Evidence end) {
        evidence = end;
    }

    /**
     * The backend has opened the connection that the caller asked for: the call becomes a stream, and gives
     * the bulkhead's permit back.
     */
    void upgraded(long now) {
        if (holdsPermit) {
            markSample(Evidence.ANSWERED);
            long nanos = Math.max(0, backendNanos(now));
            recordCall(nanos);
            endDryRun();
            releasePermit(now, nanos);
            countStream();
        }
    }

    @Override
    public @Nullable RetriedResult retriedResult() {
        return retried;
    }

    @Override
    public long dueNanos(long now) {
        return isQueued && !isPermitComing
                ? Math.min(longWaitLeftNanos(now), Math.min(waitLeftNanos(now), spareNanos(now)))
                : NEVER;
    }

    @Override
    public Decision check(long now) {
        if (!isQueued || isPermitComing) {
            return Step.WAIT;
        }
        if (longWaitLeftNanos(now) <= 0) {
            isLongWaitReported = true;
            // May admit this call: the permit then arrives as a task of its own.
            backend.limit().waited(now, queuedAt);
        }
        if (spareNanos(now) <= 0) {
            return leaveQueue(Refuse.TOO_LITTLE_TIME, now);
        }
        return waitLeftNanos(now) <= 0 ? leaveQueue(Refuse.QUEUE_TIMEOUT, now) : Step.WAIT;
    }

    private Decision leaveQueue(Refuse refuse, long now) {
        if (refuse.reason() == Reason.QUEUE_TIMEOUT ? expire() : leave()) {
            backend.limit().waited(now, queuedAt);
            return isEvicted() ? Refuse.QUEUE_EVICTED : refuse;
        }
        // The permit is already on its way and will be used.
        isPermitComing = true;
        return Step.WAIT;
    }

    private long longWaitLeftNanos(long now) {
        long longWaitNanos = isLongWaitReported ? NEVER : backend.limit().longWaitNanos();
        return longWaitNanos == NEVER ? NEVER : queuedAt + longWaitNanos - now;
    }

    private long waitLeftNanos(long now) {
        return queuedAt + backend.settings().maxWaitNanos() - now;
    }

    /**
     * Time left beyond the usual time of the route's own calls. A permit for a waiter with less time would be
     * wasted. The usual time counts as at most half the route's deadline: otherwise a backend that was slow
     * for a while would get no calls, and its recovery would not be noticed.
     */
    private long spareNanos(long now) {
        Route route = exchange.record().route();
        // The route's usual time was measured at the route's own backend, not at the fallback's.
        long usualNanos = exchange.record().fellBack()
                ? backend.serviceTime().uncongestedNanos()
                : route.usualTime().nanos(now);
        return exchange.timer().leftNanos(now) - Math.min(usualNanos, route.deadlineNanos() / 2);
    }

    @Override
    public void release(@Nullable Reason why, long now) {
        if (isQueued) {
            // A wait that ends without a permit counts too. If a permit is on its way, run() gives it back.
            endWait(now, false);
            leave();
        }
        Probe started = probe;
        if (started != null) {
            // Without effect if the attempt has reported an outcome.
            started.failed();
        }
        if (routeBreaker != null) {
            routeBreaker.leave();
        }
        releaseCaps();
        endDryRun();
        long nanos = Math.max(0, backendNanos(now));
        if (isPermitUsed) {
            isPermitUsed = false;
            exchange.record().backendNanos += nanos;
            if (holdsPermit || isMoved) {
                recordCall(nanos);
            }
        }
        if (holdsPermit) {
            releasePermit(now, nanos);
        }
        if (isSampleOwed) {
            isSampleOwed = false;
            // A call that hung to its end says nothing.
            backend.limit().ended(now, limitMark, nanos, evidence == Evidence.ANSWERED ? evidence : Evidence.NONE);
        }
        Instance counting = streamInstance;
        if (counting != null) {
            streamInstance = null;
            counting.streamEnded();
        }
        releaseOverdue();
    }

    private void recordCall(long nanos) {
        backend.observer().served(nanos);
        if (isSample) {
            backend.serviceTime().recordWait(queueNanos);
            backend.serviceTime().recordServed(nanos);
        }
    }

    private void endDryRun() {
        BulkheadDryRun counted = dryRun;
        if (counted != null) {
            dryRun = null;
            counted.end();
        }
    }

    private void releasePermit(long now, long nanos) {
        holdsPermit = false;
        Generation generation = permitGeneration;
        boolean ownsPermit = generation == null || generation.leave();
        // A call whose permit the breaker has given back hung: the breaker's evidence, not the limit's. A
        // route that hangs while others are answered is no sign of overload, and neither is an instance that
        // fails alone.
        boolean hung = !ownsPermit || isOfHangingRoute(now) || isOfBadInstance(now) || isOfBadRoute(now);
        releaseOverdue();
        isSampleOwed &= !hung;
        if (!isSampleOwed) {
            backend.limit().ended(now, limitMark, nanos, hung ? Evidence.NONE : evidence);
        }
        if (ownsPermit) {
            bulkhead.release();
        }
    }

    private boolean isOfHangingRoute(long now) {
        return countsAsOverdue
                && evidence == Evidence.TIMED_OUT
                && exchange.record().route().overdue().isHanging(now);
    }

    /**
     * Gives the bulkhead's permit back before the call ends, if the call is one of this route: it hangs, and
     * waits on until its deadline without a permit.
     */
    void giveBackPermitOf(RouteHealth stalled, long now) {
        if (holdsPermit
                && routeBreaker != null
                && routeBreaker.health() == stalled
                && backend.settings().enforcement().bulkhead()) {
            evidence = Evidence.NONE;
            releasePermit(now, Math.max(0, backendNanos(now)));
        }
    }

    private boolean isSignOfOverload() {
        return evidence != Evidence.ANSWERED && evidence != Evidence.NONE;
    }

    private boolean isOfBadRoute(long now) {
        return routeBreaker != null && isSignOfOverload() && routeBreaker.failsAlone(now);
    }

    private boolean isOfBadInstance(long now) {
        return isSignOfOverload() && !instance.health().role().isOverloadShared(now);
    }

    private void endWait(long now, boolean permitted) {
        isQueued = false;
        countTenant(permitted);
        queueNanos = now - queuedAt;
        ExchangeRecord record = exchange.record();
        record.queueNanos += queueNanos;
        ExchangeTrace trace = record.trace();
        if (trace != null) {
            trace.waited(queuedAt, now, permitted);
        }
    }

    /** Acquires the permits that have no queue; null: all are held; a refusal: none is held. */
    private @Nullable Refuse acquireCaps(long now) {
        if (!tryAcquireRoutePermit()) {
            return Refuse.ROUTE_FULL;
        }
        if (!tryAcquireStreamPermit()) {
            releaseRoutePermit();
            return Refuse.STREAMS_FULL;
        }
        if (!tryAcquireOverdue(now)) {
            releaseCaps();
            return Refuse.ROUTE_HANGS;
        }
        return null;
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

    private boolean tryAcquireStreamPermit() {
        if (!exchange.isStream()) {
            return true;
        }
        holdsStreamPermit = backend.streams().tryAcquire();
        if (!holdsStreamPermit && backend.dryRunBulkhead() != null) {
            backend.observer().wouldRefuse(Reason.BULKHEAD_FULL);
            holdsStreamPermit = backend.streams().acquireAnyway();
        }
        return holdsStreamPermit;
    }

    /** If the call's route hangs, its calls hold at most half of the limit. */
    private boolean tryAcquireOverdue(long now) {
        OverdueCalls overdue = exchange.record().route().overdue();
        if (!overdue.isHanging(now) || !exchange.isCall() || exchange.record().fellBack()) {
            return true;
        }
        countsAsOverdue = overdue.tryAcquire(bulkhead.maxConcurrentCalls());
        if (!countsAsOverdue && backend.dryRunBulkhead() != null) {
            backend.observer().wouldRefuse(Reason.BULKHEAD_FULL);
            return true;
        }
        return countsAsOverdue;
    }

    /** The call has waited for the stall duration, and still waits. */
    void becameOverdue() {
        if (holdsPermit && !countsAsOverdue && !exchange.record().fellBack()) {
            countsAsOverdue = true;
            exchange.record().route().overdue().add();
        }
    }

    private void releaseOverdue() {
        if (countsAsOverdue) {
            countsAsOverdue = false;
            exchange.record().route().overdue().release();
        }
    }

    private boolean tryAcquireRoutePermit() {
        QueueingBulkhead limit = exchange.record().route().limit();
        if (limit == null || exchange.record().fellBack()) {
            // A fallback has its own limit.
            return true;
        }
        holdsRoutePermit = limit.tryAcquire();
        return holdsRoutePermit;
    }

    private void releaseRoutePermit() {
        QueueingBulkhead limit = exchange.record().route().limit();
        if (holdsRoutePermit && limit != null) {
            holdsRoutePermit = false;
            limit.release();
        }
    }
}
