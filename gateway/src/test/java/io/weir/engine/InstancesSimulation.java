package io.weir.engine;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.drain.Drain;
import io.weir.engine.TrafficSimulation.Ending;
import io.weir.engine.TrafficSimulation.Fault;
import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.health.Probe;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.InstancesInForce;
import io.weir.instance.LoadBalancingProperties;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.LimitBounds;
import io.weir.limit.LimitInForce;
import io.weir.limit.LimitSettings;
import io.weir.limit.LittlesLawProperties;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.QueueingBulkhead.Overflow;
import io.weir.overload.InFlightShare;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadProperties;
import io.weir.probe.ProbeRequest;
import io.weir.retry.RetryBudget;
import io.weir.retry.RetryBudgetProperties;
import io.weir.testing.TestHealth;
import io.weir.testing.TestRoute;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import reactor.netty.resources.LoopResources;

/**
 * The real engine with one backend of several instances in virtual time, each with its own fault. A
 * simulation is deterministic for a seed.
 */
final class InstancesSimulation {

    /** One simulated instance. */
    static final class Replica {
        Instance instance;
        Fault fault = Fault.NONE;
        Duration service = Duration.ofMillis(20);
        /** The calls that the instance works on at once; others wait in it. 0: any number. */
        int workers;
        /** So many next answers take {@link #late} instead of the service time. */
        int lateAnswers;

        Duration late = Duration.ZERO;
        /** Draws the time until each answer, in nanoseconds; null: it is {@link #service}. */
        @Nullable
        LongSupplier answerNanos;

        /** Whether connections to it are established only just before its answers. */
        boolean connectsLate;
        /** The status of its errors. */
        int errorStatus = 500;
        /** Calls that reached the instance, probes excluded. */
        int calls;
        /** Calls that reached the instance while it was faulty. */
        int faultyCalls;
        /** Faulty calls up to the first ejection. */
        int faultyCallsAtEjection = -1;

        int probes;
        /** The transitions to open. */
        int openings;
        /** Calls in the instance now, probes excluded. */
        int inside;
        /** The largest number of calls in the instance at a time. */
        int mostInside;
        /** The moment at which the instance started cold; its calls take up to ten times as long. */
        long coldSince = NEVER_COLD;

        private final Set<FakeAttempt> underWay = new LinkedHashSet<>();
        private int busy;
        private final Queue<Runnable> waiting = new ArrayDeque<>();

        Replica(Instance instance) {
            this.instance = instance;
            instance.health()
                    .resilience4j()
                    .getEventPublisher()
                    .onStateTransition(
                            event -> openings += event.getStateTransition().getToState() == State.OPEN ? 1 : 0);
        }

        /**
         * The service time: if the instance is cold, ten times as long at first, as usual after five seconds.
         */
        private long serviceNanos(long now) {
            if (lateAnswers > 0) {
                lateAnswers--;
                return late.toNanos();
            }
            LongSupplier drawn = answerNanos;
            if (drawn != null) {
                return drawn.getAsLong();
            }
            double warmth = coldSince == NEVER_COLD ? 1 : Math.min(1, (now - coldSince) / COLD_NANOS);
            return (long) (service.toNanos() * (1 + 9 * (1 - warmth)));
        }

        /** The process ends: the connections of all calls under way break, and new ones are refused. */
        void kill() {
            fault = Fault.REFUSED;
            for (FakeAttempt attempt : List.copyOf(underWay)) {
                if (attempt.cancelled == 0 && underWay.remove(attempt)) {
                    inside--;
                    attempt.onCancel = () -> {};
                    attempt.fails();
                }
            }
        }

        boolean isOpen() {
            return instance.health().state() == State.OPEN;
        }
    }

    private static final Pool POOL = new Pool(
            "orders",
            URI.create("http://orders:8080"),
            UpstreamProtocol.HTTP1,
            new ConnectionProperties(Duration.ofMillis(250), Duration.ofSeconds(4), Duration.ofMinutes(5), 16, null),
            1,
            null,
            LoopResources.create("instances", 1, true));

    private static final int MAX_STREAMS = 1000;
    private static final long NEVER_COLD = Long.MIN_VALUE;
    private static final double COLD_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final double FAILING_SHARE = 0.3;
    private static final long RESET_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    final List<Ending> endings = new ArrayList<>();
    /** The faults of single routes, in place of those of the instances. */
    final RouteFaults routeFaults = new RouteFaults();

    final List<Replica> replicas = new ArrayList<>();
    final Health health;
    final QueueingBulkhead bulkhead;
    Instances instances;
    HttpMethod method = HttpMethod.GET;
    /** Whether the backend has opened. */
    boolean hasOpened;

    /** Callers who had failed when an instance was ejected for the first time. */
    long failedAtEjection;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Random random;
    private final Engine engine;
    private final Backend backend;
    private final LoadBalancingProperties balancing;
    private final Route route;
    private final Route streams;
    final LimitInForce limitInForce;

    /** A simulation; the limit is {@link TrafficSimulation#AUTO} for an adaptive one. */
    InstancesSimulation(int count, Duration deadline, int limit, long seed) {
        this(count, deadline, limit, seed, LoadBalancingProperties.defaults(), true);
    }

    InstancesSimulation(int count, Duration deadline, int limit, long seed, LoadBalancingProperties balancing) {
        this(count, deadline, limit, seed, balancing, true);
    }

    InstancesSimulation(int count, Duration deadline, int limit, long seed, boolean isBreakerEnforced) {
        this(count, deadline, limit, seed, LoadBalancingProperties.defaults(), isBreakerEnforced);
    }

    private InstancesSimulation(
            int count,
            Duration deadline,
            int limit,
            long seed,
            LoadBalancingProperties balancing,
            boolean isBreakerEnforced) {
        channel.freezeTime();
        random = new Random(seed);
        channel.advanceTimeBy(TrafficSimulation.START_NANOS - now(), TimeUnit.NANOSECONDS);
        engine = new Engine(
                this::now,
                random::nextDouble,
                new Drain(),
                new OverloadGuard(new OverloadProperties(
                        1_000_000, Duration.ofMinutes(10), Duration.ofMillis(100), Duration.ofMinutes(10), 100)),
                new Limits(1 << 20, deadline.toNanos(), deadline.toNanos(), 1000, 65_536, 1 << 20, 0),
                this::attempt,
                this::probe);
        boolean isAdaptive = limit == TrafficSimulation.AUTO;
        bulkhead = new QueueingBulkhead(
                isAdaptive ? LimitBounds.DEFAULT.initial() : limit,
                limit,
                isAdaptive ? Overflow.EVICT_OLDEST : Overflow.REFUSE_NEWCOMER);
        limitInForce = new LimitInForce(
                bulkhead,
                isAdaptive
                        ? LimitSettings.adaptive(LimitBounds.DEFAULT, LimitSettings.AUTO, deadline.toNanos())
                        : LimitSettings.fixed(limit, limit),
                this::now,
                this::now);
        HealthSettings settings = isBreakerEnforced
                ? TestHealth.settings(deadline, 20, Duration.ofMillis(100))
                : TestHealth.unenforced(deadline);
        health = new Health("orders", settings, permits(false), this::now, random::nextDouble);
        limitInForce.limitBy(health.caps()::maxCalls, health.caps()::limitShare);
        for (int i = 0; i < count; i++) {
            String address = "http://orders-" + i + ":8080";
            Health own = count == 1
                    ? health
                    : Health.ofInstance("orders", address, settings, permits(true), this::now, random::nextDouble);
            replicas.add(new Replica(new Instance(URI.create(address), 1, POOL, own)));
        }
        this.balancing = balancing;
        instances = instances();
        instances.takeOver();
        BackendSettings backendSettings = new BackendSettings(
                "orders",
                false,
                deadline.toNanos(),
                deadline.toNanos() / 2,
                TimeUnit.SECONDS.toNanos(1),
                TimeUnit.HOURS.toNanos(1),
                BackendSettings.bits(Set.of(500, 503)),
                BackendSettings.bits(Set.of()),
                true);
        backend = new Backend(
                backendSettings,
                new Compartment(
                        bulkhead,
                        limitInForce,
                        new QueueingBulkhead(MAX_STREAMS, 0),
                        new InstancesInForce(instances),
                        new ServiceTimeEstimate(new LittlesLawProperties(Duration.ofSeconds(10)), health, this::now),
                        new InFlightShare()),
                new RetryBudget(new RetryBudgetProperties(20, 10), now()),
                null,
                BackendObserver.NONE);
        route = route(deadline, Mode.REQUEST);
        streams = route(deadline, Mode.STREAM);
    }

    private Instances instances() {
        if (replicas.size() == 1) {
            return Instances.of(replicas.getFirst().instance, balancing);
        }
        return Instances.of(
                replicas.stream().map(replica -> replica.instance).toList(),
                health,
                balancing,
                random::nextInt,
                engine::leave);
    }

    /** A reload changes each instance. */
    void reload(UnaryOperator<Instance> change) {
        replicas.forEach(replica -> replica.instance = change.apply(replica.instance));
        instances = instances();
        backend.compartment().instancesInForce().replace(instances);
    }

    private Route route(Duration deadline, Mode mode) {
        return TestRoute.to(backend, this::ended).deadline(deadline).mode(mode).build();
    }

    private Health.Permits permits(boolean isInstance) {
        return new Health.Permits() {

            @Override
            public int limit() {
                return limitInForce.permits();
            }

            @Override
            public void limitChanged() {
                limitInForce.update();
                noteEjections();
                if (!isInstance && health.state() == State.OPEN) {
                    hasOpened = true;
                }
            }

            @Override
            public void giveBack(int calls) {
                for (int i = 0; i < calls; i++) {
                    bulkhead.release();
                }
            }
        };
    }

    private void noteEjections() {
        for (Replica replica : replicas) {
            if (replica.faultyCallsAtEjection < 0 && replica.isOpen()) {
                replica.faultyCallsAtEjection = replica.faultyCalls;
                failedAtEjection = failed();
            }
        }
    }

    long now() {
        return channel.eventLoop().ticker().nanoTime();
    }

    // ---------------------------------------------------------------- traffic

    /** A caller arrives. */
    void call() {
        start(route, false);
    }

    /** Routes to the same backend that are told apart. */
    List<Route> routesApart(String... ids) {
        return RouteFaults.routes(backend, this::ended, engine, List.of(ids));
    }

    /** A caller of a route arrives. */
    void call(Route called) {
        start(called, false);
    }

    /** A caller opens a stream, which its backend never ends. */
    Exchange openStream() {
        return start(streams, false);
    }

    /** A caller opens a WebSocket, which its backend never closes. */
    Exchange openWebSocket() {
        return start(route, true);
    }

    private Exchange start(Route to, boolean isWebSocket) {
        FakeCaller caller = new FakeCaller(channel);
        caller.method = method;
        caller.hasBody = !method.equals(HttpMethod.GET);
        caller.webSocket = isWebSocket;
        Exchange exchange = new Exchange(engine, to, caller, now());
        exchange.start();
        return exchange;
    }

    /** Callers arrive at random moments, so many in a second, for this time. */
    void traffic(int perSecond, Duration time) {
        long end = now() + time.toNanos();
        while (true) {
            long next = (long) (-Math.log(1 - random.nextDouble()) / perSecond * TimeUnit.SECONDS.toNanos(1));
            if (now() + next >= end) {
                advance(end - now());
                return;
            }
            advance(next);
            call();
        }
    }

    /** Callers arrive at even intervals, for a time. */
    void evenTraffic(int perSecond, Duration time) {
        long interval = TimeUnit.SECONDS.toNanos(1) / perSecond;
        for (long left = time.toNanos(); left >= interval; left -= interval) {
            advance(interval);
            call();
        }
    }

    void advance(Duration time) {
        advance(time.toNanos());
    }

    /** Runs all events of this time, each at its own moment. */
    private void advance(long nanos) {
        long end = now() + nanos;
        while (true) {
            // What a timer submits belongs to the timer's moment.
            while (channel.hasPendingTasks()) {
                channel.runPendingTasks();
            }
            long next = channel.runScheduledPendingTasks();
            long left = end - now();
            if (next < 0 || next > left) {
                channel.advanceTimeBy(left, TimeUnit.NANOSECONDS);
                return;
            }
            channel.advanceTimeBy(next, TimeUnit.NANOSECONDS);
        }
    }

    private void ended(ExchangeRecord record) {
        endings.add(new Ending(
                record.route().id(), false, record.arrivedAtNanos(), now(), record.status(), record.reason()));
    }

    /** Callers who were not answered with 200. */
    long failed() {
        return endings.stream().filter(ending -> !ending.isAnswered()).count();
    }

    /** The share of the callers who were answered with 200. */
    double answeredShare() {
        return (double) endings.stream().filter(Ending::isAnswered).count() / endings.size();
    }

    // ---------------------------------------------------------------- the instances

    private Replica replica(Instance instance) {
        return replicas.stream()
                .filter(replica -> replica.instance == instance)
                .findFirst()
                .orElseThrow();
    }

    private Attempt attempt(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
        FakeAttempt attempt = new FakeAttempt(exchange, admission, evidence, now);
        Replica replica = replica(admission.entry().instance());
        Fault met = routeFaults.met(exchange.record().route(), replica.fault);
        replica.calls++;
        if (met != Fault.NONE) {
            replica.faultyCalls++;
        }
        if (met != Fault.REFUSED && !replica.connectsLate) {
            attempt.connects();
        }
        replica.inside++;
        replica.mostInside = Math.max(replica.mostInside, replica.inside);
        replica.underWay.add(attempt);
        attempt.onCancel = () -> {
            replica.inside--;
            replica.underWay.remove(attempt);
        };
        if (met == Fault.HANG) {
            return attempt;
        }
        if (met == Fault.RESET || met == Fault.REFUSED) {
            schedule(RESET_NANOS, () -> {
                if (attempt.cancelled == 0 && replica.underWay.remove(attempt)) {
                    replica.inside--;
                    attempt.onCancel = () -> {};
                    attempt.fails();
                }
            });
            return attempt;
        }
        if (exchange.isStream()) {
            schedule(replica.serviceNanos(now), () -> {
                if (exchange.isWebSocket()) {
                    attempt.opensTunnel();
                } else {
                    attempt.begins(200);
                }
            });
            return attempt;
        }
        boolean good = met == Fault.NONE || (met == Fault.SOME_ERRORS && random.nextDouble() >= FAILING_SHARE);
        if (good) {
            Route called = exchange.record().route();
            serve(replica, called, () -> answer(exchange, replica, attempt, 200));
        } else {
            // An error is faster than an answer.
            schedule(RESET_NANOS, () -> answer(exchange, replica, attempt, replica.errorStatus));
        }
        return attempt;
    }

    private void serve(Replica replica, Route called, Runnable answer) {
        if (replica.workers == 0) {
            schedule(routeFaults.serviceNanos(called, replica.serviceNanos(now())), answer);
        } else {
            replica.waiting.add(answer);
            startWaiting(replica);
        }
    }

    /** An abandoned call keeps its worker, as in most servers. */
    private void startWaiting(Replica replica) {
        while (replica.busy < replica.workers && !replica.waiting.isEmpty()) {
            Runnable answer = replica.waiting.remove();
            replica.busy++;
            schedule(replica.serviceNanos(now()), () -> {
                replica.busy--;
                answer.run();
                startWaiting(replica);
            });
        }
    }

    private static void answer(ExchangeContext exchange, Replica replica, FakeAttempt attempt, int status) {
        if (attempt.cancelled == 0 && replica.underWay.remove(attempt)) {
            replica.inside--;
            attempt.onCancel = () -> {};
            attempt.beginsSmallAnswer(status).answers();
            exchange.flushed();
        }
    }

    private void probe(Instance instance, ProbeRequest request, Probe probe) {
        Replica replica = replica(instance);
        Fault met = routeFaults.metByProbe(health, replica.fault);
        replica.probes++;
        boolean good = met == Fault.NONE || (met == Fault.SOME_ERRORS && random.nextDouble() >= FAILING_SHARE);
        if (good) {
            long nanos = routeFaults.probeNanos(health, replica.serviceNanos(now()));
            boolean isLate = nanos > probe.patienceNanos();
            schedule(isLate ? probe.patienceNanos() : nanos, isLate ? probe::failed : () -> probe.answered(now()));
        } else {
            schedule(met == Fault.HANG ? probe.patienceNanos() : RESET_NANOS, probe::failed);
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored")
    private void schedule(long nanos, Runnable event) {
        channel.eventLoop().schedule(event, nanos, TimeUnit.NANOSECONDS);
    }
}
