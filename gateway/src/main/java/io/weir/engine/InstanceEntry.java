package io.weir.engine;

import io.weir.engine.Decision.Refuse;
import io.weir.health.Generation;
import io.weir.health.Health;
import io.weir.health.Probe;
import io.weir.health.RouteHealth;
import io.weir.instance.HashKey;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.TriedInstances;
import io.weir.limit.Limit.Evidence;
import io.weir.outcome.Reason;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The way of an admission past the breakers into an instance. {@link #pass} checks the breakers of the
 * backend and of the route before the permit; a call that they refuse may serve as a probe. {@link #enter}
 * checks them again once the permit is held, chooses one of several instances, and counts the call there.
 *
 * <p>Owns what the health and the instance count for the call: the probe, the place in the route's ramp, and
 * the place among the instance's streams. {@link #leave} gives them back; it does nothing the second time.
 * The generation that counts the bulkhead's permit ends together with the permit, in {@link
 * #leaveGeneration}.
 *
 * <p>Concurrency: confined to the exchange's event loop.
 */
final class InstanceEntry {

    private final ExchangeContext exchange;
    private final Backend backend;
    /** Null: the backend has one route. */
    private final @Nullable RouteBreaker routeBreaker;
    /** The instance that the attempt goes to; of several, chosen when the permit is held. */
    private Instance instance;

    /** A refusal that is not enforced is counted. */
    private boolean isWouldRefuseCounted;
    /** All instances that are in have as many calls as an instance may have. */
    private boolean foundNoRoom;
    /** The request itself is a probe, outside the limit; null: it is an ordinary call. */
    private @Nullable Probe probe;
    /** The generation that counts the permit, and gives it back when the breaker opens; null: none does. */
    private @Nullable Generation permitGeneration;
    /** The instance, of several, that counts the exchange as a stream; null: none does. */
    private @Nullable Instance streamInstance;

    InstanceEntry(ExchangeContext exchange, Backend backend, boolean isRetry) {
        this.exchange = exchange;
        this.backend = backend;
        this.routeBreaker = RouteBreaker.of(exchange.record());
        this.instance = backend.instances().first();
        this.isWouldRefuseCounted = isRetry;
    }

    // ---------------------------------------------------------------- before the permit

    /**
     * Checks the breakers before the permit. A call that they refuse may become a {@linkplain #isProbe
     * probe}.
     *
     * @return the refusal, which counts in the breaker's metrics; null: the call may proceed
     */
    @Nullable
    Refuse pass(long now) {
        boolean isOpen = !backend.health().permits(now);
        if ((!isOpen && !isRouteOpen(now)) || !isRefusalEnforced()) {
            return null;
        }
        return (isOpen ? startProbeOfBackend(now) : startProbeOfRoute(now)) ? null : refusal();
    }

    /**
     * Whether the breaker refuses the request, so that the caller need not send the body first. The only side
     * effect is that refusals which are not enforced are counted.
     */
    boolean isRefusedBeforeReading(long now) {
        Health health = backend.health();
        RouteBreaker route = routeBreaker;
        long usualNanos = usualNanos(now);
        if (health.permits(now)) {
            return route != null
                    && route.refuses(now)
                    && isRefusalEnforced()
                    && !route.isProbeDue(exchange, usualNanos, now);
        }
        return isRefusalEnforced()
                && !ProbeChoice.isDue(ProbeChoice.of(exchange, health.settings()), health, usualNanos, now);
    }

    /** The refusal of the breaker, which counts in its metrics, or of the route's. */
    Refuse refusal() {
        Refuse ofRoute = routeBreaker != null && backend.health().isIn() ? routeBreaker.refusal() : null;
        if (ofRoute != null) {
            return ofRoute;
        }
        backend.health().refused();
        return Refuse.CIRCUIT_OPEN;
    }

    /** Whether the request itself is a probe, which needs no permit. */
    boolean isProbe() {
        return probe != null;
    }

    private boolean isRouteOpen(long now) {
        return routeBreaker != null && routeBreaker.refuses(now);
    }

    /** Whether a refusal of the breaker is enforced. A refusal that is not enforced is counted, once. */
    private boolean isRefusalEnforced() {
        if (backend.health().settings().breaker().enforce()) {
            return true;
        }
        if (!isWouldRefuseCounted) {
            isWouldRefuseCounted = true;
            backend.observer().wouldRefuse(Reason.CIRCUIT_OPEN);
        }
        return false;
    }

    // ---------------------------------------------------------------- probes

    private boolean startProbeOfBackend(long now) {
        Instances instances = backend.instances();
        return startProbe(instances.isSingle() ? instances.all() : instances.out(), false, now) != null;
    }

    /** Probes a route that is open alone, at one of the instances that are in. */
    private boolean startProbeOfRoute(long now) {
        Instances instances = backend.instances();
        Instance chosen = instances.isSingle()
                ? instances.first()
                : instances.choose(now, exchange.record().tried(), HashKey.NONE, callsUnderWay());
        if (chosen == null || routeBreaker == null) {
            return false;
        }
        Health health = routeBreaker.health().health();
        instance = chosen;
        probe = startProbe(chosen, health, ProbeChoice.ofRoute(exchange, health.settings()), false, now);
        return probe != null;
    }

    /**
     * Probes the instances that are out, as far as probes are due, until the request itself is a probe.
     *
     * @param isRare whether other instances are in, so that the request itself rarely is the probe
     * @return the probe that the request itself is; null: it is none
     */
    private @Nullable Probe startProbe(List<Instance> out, boolean isRare, long now) {
        for (Instance one : out) {
            Health health = one.health();
            Probe started = startProbe(one, health, ProbeChoice.of(exchange, health.settings()), isRare, now);
            if (started != null) {
                instance = one;
                probe = started;
                return started;
            }
        }
        return null;
    }

    /** Starts a probe if one is due: a copy of the request, or the request itself, which is returned. */
    private @Nullable Probe startProbe(Instance at, Health health, ProbeChoice choice, boolean isRare, long now) {
        long usualNanos = usualNanos(now);
        return switch (choice) {
            case SHADOW -> {
                Probe shadow = health.probes().tryStart(now, usualNanos, false);
                if (shadow != null) {
                    ProbeChoice.sendShadow(exchange, backend, at, shadow);
                }
                yield null;
            }
            case CALLER, LAST_RESORT -> {
                if (isRare) {
                    yield health.probes().tryStartRare(now, usualNanos);
                }
                yield choice == ProbeChoice.CALLER
                        ? health.probes().tryStart(now, usualNanos, true)
                        : health.probes().tryStartLastResort(now, usualNanos);
            }
            // The health prober sends the probes.
            case NONE -> null;
        };
    }

    // ---------------------------------------------------------------- with the permit

    /**
     * Enters the backend for an attempt. Called once.
     *
     * @param holdsPermit whether the call holds the bulkhead's permit
     * @return the evidence of the attempt; null: the breaker refuses it, or {@link #foundNoRoom}
     */
    @Nullable
    HealthEvidence enter(boolean holdsPermit, long now) {
        RouteBreaker route = routeBreaker;
        if (route != null && probe == null && !route.enter(now) && isRefusalEnforced()) {
            return null;
        }
        HealthEvidence evidence = enterInstances(holdsPermit, now);
        if (evidence != null) {
            evidence.countFor(route);
        } else if (route != null) {
            route.leave();
        }
        return evidence;
    }

    private @Nullable HealthEvidence enterInstances(boolean holdsPermit, long now) {
        if (probe != null) {
            return HealthEvidence.ofProbe(instance.health(), probe, exchange, now);
        }
        Instances instances = backend.instances();
        if (!instances.isSingle()) {
            return enterOneOf(instances, holdsPermit, now);
        }
        // The instances may have changed while the call waited.
        instance = instances.first();
        Health health = instance.health();
        Generation generation = health.enter(now, holdsPermit);
        if (generation == null) {
            return enterOpen(health, now);
        }
        permitGeneration = holdsPermit ? generation : null;
        return HealthEvidence.ofCall(health, generation, null, exchange, now);
    }

    /** Chooses one of several instances, and enters it. */
    private @Nullable HealthEvidence enterOneOf(Instances instances, boolean holdsPermit, long now) {
        ExchangeRecord record = exchange.record();
        Probe started = startProbe(instances.out(), true, now);
        if (started != null) {
            record.instance = instance;
            return HealthEvidence.ofProbe(instance.health(), started, exchange, now);
        }
        Instance chosen = instances.hasSessionCookie()
                ? instances.ofSession(record.caller().received().headers(), record.tried())
                : null;
        if (chosen == null) {
            chosen = instances.choose(now, record.tried(), hash(instances), callsUnderWay());
        }
        HealthEvidence entered = chosen == null ? null : enter(chosen, holdsPermit, now);
        if (entered != null) {
            return entered;
        }
        // The instance has opened or become full since the choice, or the configuration has changed.
        for (Instance other : instances.all()) {
            if (instances.isInReserve(other)) {
                foundNoRoom = true;
                continue;
            }
            entered = enter(other, holdsPermit, now);
            if (entered != null) {
                foundNoRoom = false;
                return entered;
            }
            foundNoRoom |= other.isIn();
        }
        if (foundNoRoom) {
            return null;
        }
        // Without enforcement the call is sent all the same, but not to an instance that an operator drained.
        instance = instance.health().isDrained() ? instances.firstUndrained() : instance;
        record.instance = instance;
        return enterOpen(instance.health(), now);
    }

    /**
     * Enters an instance that takes calls, and is not that of the first attempt, for a hedge. Called once;
     * the breakers are closed.
     *
     * @return the evidence of the attempt; null: there is none, or it has no room
     */
    @Nullable
    HealthEvidence enterBeside(Instance first, boolean holdsPermit, long now) {
        Instances instances = backend.instances();
        TriedInstances tried =
                new TriedInstances(first.identity(), exchange.record().tried());
        Instance chosen = instances.choose(now, tried, hash(instances), callsUnderWay());
        if (chosen == null
                || tried.contains(chosen.identity())
                || chosen.isLeftAlone(now)
                || instances.isInReserve(chosen)) {
            return null;
        }
        RouteBreaker route = routeBreaker;
        if (route != null && !route.enter(now)) {
            return null;
        }
        HealthEvidence evidence = enter(chosen, holdsPermit, now);
        if (evidence != null) {
            evidence.countFor(route);
        }
        return evidence;
    }

    private @Nullable HealthEvidence enter(Instance chosen, boolean holdsPermit, long now) {
        // Without enforcement, calls exceed the limits.
        Generation generation = holdsPermit && backend.bulkhead().isEnforced()
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

    /**
     * Enters a backend whose breaker is open and not enforced: some calls serve as its probes. It would have
     * refused the others.
     */
    private @Nullable HealthEvidence enterOpen(Health health, long now) {
        return isRefusalEnforced()
                ? null
                : HealthEvidence.ofUnenforced(
                        health, health.probes().tryStart(now, usualNanos(now), true), exchange, now);
    }

    /**
     * Whether the exchange has a permit, but all instances that are in have as many calls as an instance may
     * have: an instance has opened since the permit was granted.
     */
    boolean foundNoRoom() {
        return foundNoRoom;
    }

    /** The instance that the attempt goes to. */
    Instance instance() {
        return instance;
    }

    private long hash(Instances instances) {
        HashKey key = instances.hashKey();
        Caller caller = exchange.record().caller();
        return key == null ? HashKey.NONE : key.hash(caller.received().headers(), caller.received()::callerNetwork);
    }

    private int callsUnderWay() {
        return backend.bulkhead().inUse() + backend.streams().inUse();
    }

    private long usualNanos(long now) {
        return exchange.record().usualNanos(now);
    }

    // ---------------------------------------------------------------- the end

    /** Counts the exchange as a stream in its instance, until it ends. */
    void countStream() {
        if (streamInstance == null && !backend.instances().isSingle()) {
            streamInstance = instance;
            instance.streamBegan();
        }
    }

    /**
     * The permit ends: its generation counts it no longer.
     *
     * @return false: the breaker has given the permit back, since the call hangs
     */
    boolean leaveGeneration() {
        Generation generation = permitGeneration;
        permitGeneration = null;
        return generation == null || generation.leave();
    }

    /** Whether the call is one of this route. */
    boolean isOf(RouteHealth route) {
        return routeBreaker != null && routeBreaker.health() == route;
    }

    /**
     * Whether the end of a call is no sign that the backend is overloaded: its instance, or its route, fails
     * while others are answered.
     */
    boolean failsAlone(Evidence end, long now) {
        return end != Evidence.ANSWERED
                && end != Evidence.NONE
                && (!instance.health().role().isOverloadShared(now)
                        || (routeBreaker != null && routeBreaker.failsAlone(now)));
    }

    /** Ends the probe, and gives back the places in the route's ramp and among the instance's streams. */
    void leave() {
        if (probe != null) {
            // Without effect if the attempt has reported an outcome.
            probe.failed();
        }
        if (routeBreaker != null) {
            routeBreaker.leave();
        }
        Instance counting = streamInstance;
        if (counting != null) {
            streamInstance = null;
            counting.streamEnded();
        }
    }
}
