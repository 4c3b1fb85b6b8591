package io.weir.engine;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.drain.Drain;
import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.health.Probe;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.InstancesInForce;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.LimitBounds;
import io.weir.limit.LimitInForce;
import io.weir.limit.LimitSettings;
import io.weir.limit.LittlesLawProperties;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.QueueingBulkhead.Overflow;
import io.weir.outcome.Reason;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import reactor.netty.resources.LoopResources;

/**
 * The real engine with one route and one backend in virtual time: callers, the backend's answers and its
 * faults are events of one event loop. A simulation is deterministic for a seed.
 */
final class TrafficSimulation {

    /** The backend's behaviour towards a request that arrives. */
    enum Fault {
        /** Answers with 200 after the service time. */
        NONE,
        /** Swallows the request; it stays unanswered after the backend has healed. */
        HANG,
        /** Closes the connection without an answer. */
        RESET,
        /** Answers with 500. */
        ERRORS,
        /** Refuses the connection. */
        REFUSED,
        /** Answers 30 % of the requests with 500. */
        SOME_ERRORS
    }

    /** A call that the backend never answers has this header. */
    private static final String HANGS = "hangs";

    /**
     * The end of one exchange.
     *
     * @param route the id of its route
     * @param hangs whether the backend would never have answered it
     */
    record Ending(
            String route,
            boolean hangs,
            long arrivedAt,
            long endedAt,
            int status,
            @Nullable Reason reason) {

        boolean isAnswered() {
            return status == 200;
        }

        long nanos() {
            return endedAt - arrivedAt;
        }
    }

    private static final Pool POOL = new Pool(
            "orders",
            URI.create("http://orders:8080"),
            UpstreamProtocol.HTTP1,
            new ConnectionProperties(Duration.ofMillis(250), Duration.ofSeconds(4), Duration.ofMinutes(5), 16, null),
            1,
            null,
            LoopResources.create("simulation", 1, true));

    private static final double FAILING_SHARE = 0.3;
    private static final long RESET_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final Duration MAX_WAIT = Duration.ofMillis(100);

    final List<Ending> endings = new ArrayList<>();
    final Health health;
    final QueueingBulkhead bulkhead;
    final QueueingBulkhead streams = new QueueingBulkhead(256, 0);
    final LimitInForce limit;
    final Route route;

    Fault fault = Fault.NONE;
    /** The behaviour towards the calls of single routes, where it is another one. */
    final RouteFaults routeFaults = new RouteFaults();

    Duration service = Duration.ofMillis(20);
    HttpMethod method = HttpMethod.GET;
    /** The time until each answer, in nanoseconds, where it is not {@link #service}; null: it is. */
    @Nullable
    ToLongFunction<Route> answerNanos;

    /** Added to each service time, in nanoseconds: on a cold JVM, the first answers are late. */
    LongSupplier lateness = () -> 0;

    /**
     * The backend answers in bursts at this interval, all that it has got until then; null: each call by
     * itself.
     */
    @Nullable
    Duration burstInterval;

    /** The callers' own time-out; null: none. */
    @Nullable
    String callerTimeout;

    /** Called at the end of each exchange. */
    Consumer<Ending> onEnd = ending -> {};

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Random random;
    private final long start;
    private final Engine engine;
    private final Backend backend;
    private int inBackend;
    private long openedAt = -1;
    private int inBackendAtOpening;

    /** The limit of a backend that finds it by itself. */
    static final int AUTO = 0;

    /**
     * The first moment of a simulation, far from zero, as on a real machine. It is the same in each process:
     * an adaptive limit starts its probes on whole seconds of this clock.
     */
    static final long START_NANOS = TimeUnit.HOURS.toNanos(1);

    TrafficSimulation(Duration deadline, int limit, int queue, long seed) {
        this(deadline, limit, queue, seed, true);
    }

    /** A simulation with or without an enforced circuit breaker. */
    TrafficSimulation(Duration deadline, int permits, int queue, long seed, boolean isBreakerEnforced) {
        this(deadline, permits, queue, seed, isBreakerEnforced, permits == AUTO ? deadline.dividedBy(2) : MAX_WAIT);
    }

    /** A simulation with a longest wait for a permit. */
    TrafficSimulation(
            Duration deadline, int permits, int queue, long seed, boolean isBreakerEnforced, Duration maxWait) {
        channel.freezeTime();
        random = new Random(seed);
        channel.advanceTimeBy(START_NANOS - now(), TimeUnit.NANOSECONDS);
        start = now();
        engine = new Engine(
                this::now,
                random::nextDouble,
                new Drain(),
                new OverloadGuard(new OverloadProperties(
                        1_000_000, Duration.ofMinutes(10), Duration.ofMillis(100), Duration.ofMinutes(10), 100)),
                new Limits(1 << 20, deadline.toNanos(), deadline.toNanos(), 1000, 65_536, 1 << 20, 0),
                this::attempt,
                this::probe);
        boolean isAdaptive = permits == AUTO;
        bulkhead = new QueueingBulkhead(
                isAdaptive ? LimitBounds.DEFAULT.initial() : permits,
                queue,
                isAdaptive ? Overflow.EVICT_OLDEST : Overflow.REFUSE_NEWCOMER);
        limit = new LimitInForce(
                bulkhead,
                isAdaptive
                        ? LimitSettings.adaptive(LimitBounds.DEFAULT, LimitSettings.AUTO, deadline.toNanos())
                        : LimitSettings.fixed(permits, queue),
                this::now,
                this::now);
        HealthSettings settings = isBreakerEnforced
                ? TestHealth.settings(deadline, 20, Duration.ofMillis(100))
                : TestHealth.unenforced(deadline);
        health = new Health("orders", settings, permits(limit), this::now, random::nextDouble);
        limit.limitBy(health.caps()::maxCalls, health.caps()::limitShare);
        BackendSettings backendSettings = new BackendSettings(
                "orders",
                false,
                deadline.toNanos(),
                maxWait.toNanos(),
                TimeUnit.SECONDS.toNanos(1),
                deadline.toNanos(),
                BackendSettings.bits(Set.of(500)),
                BackendSettings.bits(Set.of()),
                true);
        backend = new Backend(
                backendSettings,
                new Compartment(
                        bulkhead,
                        limit,
                        streams,
                        new InstancesInForce(
                                Instances.of(new Instance(URI.create("http://orders:8080"), POOL, health))),
                        new ServiceTimeEstimate(new LittlesLawProperties(Duration.ofSeconds(10)), health, this::now),
                        new InFlightShare()),
                new RetryBudget(new RetryBudgetProperties(20, 10), now()),
                null,
                BackendObserver.NONE);
        route = TestRoute.to(backend, this::ended).deadline(deadline).build();
    }

    private Health.Permits permits(LimitInForce limit) {
        return new Health.Permits() {

            @Override
            public int limit() {
                return limit.permits();
            }

            @Override
            public void limitChanged() {
                limit.update();
                if (openedAt < 0 && health.state() == State.OPEN) {
                    openedAt = now();
                    inBackendAtOpening = inBackend;
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

    long now() {
        return channel.eventLoop().ticker().nanoTime();
    }

    /** The moment of the first opening; -1: it has not opened. */
    long openedAt() {
        return openedAt;
    }

    /** Calls in the backend at the first opening. */
    int inBackendAtOpening() {
        return inBackendAtOpening;
    }

    /** Calls in the backend, swallowed ones included until their callers have given them up. */
    int inBackend() {
        return inBackend;
    }

    // ---------------------------------------------------------------- traffic

    /** Another route to the same backend. */
    Route otherRoute(String id) {
        return TestRoute.to(backend, this::ended).id(id).build();
    }

    /** Routes to the same backend that are told apart. */
    List<Route> routesApart(String... ids) {
        return RouteFaults.routes(backend, this::ended, engine, List.of(ids));
    }

    /** A caller arrives. */
    void call() {
        call(route, false);
    }

    /**
     * A caller arrives.
     *
     * @param hangs whether the backend never answers the call
     */
    void call(Route route, boolean hangs) {
        FakeCaller caller = new FakeCaller(channel);
        caller.method = method;
        caller.hasBody = !method.equals(HttpMethod.GET);
        if (callerTimeout != null) {
            caller.headers.set("X-Request-Timeout", callerTimeout);
        }
        if (hangs) {
            caller.headers.set(HANGS, "1");
        }
        new Exchange(engine, route, caller, now()).start();
    }

    /** Groups of callers arrive at this interval, for this time. */
    void traffic(int callers, Duration interval, Duration time) {
        long end = now() + time.toNanos();
        while (now() < end) {
            for (int i = 0; i < callers; i++) {
                call();
            }
            advance(Math.min(interval.toNanos(), end - now()));
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
        Ending ending = new Ending(
                record.route().id(),
                record.caller().received().headers().contains(HANGS),
                record.arrivedAtNanos(),
                now(),
                record.status(),
                record.reason());
        endings.add(ending);
        onEnd.accept(ending);
    }

    // ---------------------------------------------------------------- the backend

    private Attempt attempt(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
        FakeAttempt attempt = new FakeAttempt(exchange, admission, evidence, now);
        inBackend++;
        attempt.onCancel = () -> inBackend--;
        Route called = exchange.record().route();
        Fault met = exchange.record().caller().received().headers().contains(HANGS)
                ? Fault.HANG
                : routeFaults.met(called, fault);
        if (met != Fault.REFUSED) {
            attempt.connects();
        }
        boolean good = met == Fault.NONE || (met == Fault.SOME_ERRORS && random.nextDouble() >= FAILING_SHARE);
        if (good || met == Fault.ERRORS || met == Fault.SOME_ERRORS) {
            schedule(
                    routeFaults.serviceNanos(called, answerNanos(called)),
                    () -> answer(exchange, attempt, good ? 200 : 500));
        } else if (met != Fault.HANG) {
            schedule(RESET_NANOS, attempt::fails);
        }
        return attempt;
    }

    private long answerNanos(Route called) {
        ToLongFunction<Route> given = answerNanos;
        return given == null ? serviceNanos() : given.applyAsLong(called);
    }

    private long serviceNanos() {
        Duration interval = burstInterval;
        return interval == null
                ? service.toNanos() + lateness.getAsLong()
                : interval.toNanos() - (now() - start) % interval.toNanos();
    }

    private void answer(ExchangeContext exchange, FakeAttempt attempt, int status) {
        if (attempt.cancelled == 0) {
            inBackend--;
            attempt.onCancel = () -> {};
            attempt.beginsSmallAnswer(status).answers();
            exchange.flushed();
        }
    }

    private void probe(Instance instance, ProbeRequest request, Probe probe) {
        Fault met = routeFaults.metByProbe(health, fault);
        boolean good = met == Fault.NONE || (met == Fault.SOME_ERRORS && random.nextDouble() >= FAILING_SHARE);
        if (good) {
            long nanos = routeFaults.probeNanos(health, service.toNanos());
            boolean isLate = nanos > probe.patienceNanos();
            schedule(isLate ? probe.patienceNanos() : nanos, isLate ? probe::failed : () -> probe.answered(now()));
        } else if (met == Fault.ERRORS || met == Fault.SOME_ERRORS) {
            schedule(service.toNanos(), probe::failed);
        } else if (met == Fault.HANG) {
            schedule(probe.patienceNanos(), probe::failed);
        } else {
            schedule(RESET_NANOS, probe::failed);
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored")
    void schedule(long nanos, Runnable event) {
        channel.eventLoop().schedule(event, nanos, TimeUnit.NANOSECONDS);
    }
}
