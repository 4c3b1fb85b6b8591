package io.weir.probe;

import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.faults.ActiveFaults;
import io.weir.health.CheckMode;
import io.weir.health.HealthCheckProperties;
import io.weir.health.HealthChecks;
import io.weir.instance.Failures;
import io.weir.instance.Instance;
import io.weir.outcome.ProbeMark;
import io.weir.outcome.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/**
 * Checks the instances of a backend at intervals, over the connections of their pools. {@link HealthChecks}
 * judges the results. A check is no call: it takes no permit, and no call's measure counts it.
 *
 * <p>The cost is bounded: one check at a time for each instance. The first check comes at a random moment of
 * the first interval, so that the checks of several instances and gateways are spread.
 *
 * <p>The time-out is counted in ticks of the event loop. A pause of the gateway is at most one tick, so it
 * lets no check fail. A failure of the gateway itself, such as a pool without a free connection, is no
 * result.
 */
// Concurrency: confined to one event loop; `start`, `replaceBy` and `close` may be called on any thread. A
// successor uses the same event loop, so it starts after the end of this checker, and no result arrives in
// between.
public final class HealthChecker {

    private static final Logger log = LoggerFactory.getLogger(HealthChecker.class);
    private static final int TICKS = 10;
    private static final double JITTER = 0.1;
    private static final double NANOS_PER_SECOND = 1e9;

    private final HealthCheckProperties properties;
    private final EventLoop loop;
    private final LongSupplier nanoClock;
    private final DoubleSupplier random;
    private final ProbeRequest.CheckSender sender;
    private final HealthChecks verdicts;
    private final List<Check> checks = new ArrayList<>();

    /**
     * A checker that has not {@linkplain #start started}.
     *
     * @param backend the backend's name
     * @param loop of a successor: the predecessor's
     * @param random 0 (inclusive) to 1 (exclusive); jitters the checks
     * @param faults the injected faults, which checks get, too; null: none is active
     */
    public HealthChecker(
            String backend,
            List<Instance> instances,
            HealthCheckProperties properties,
            EventLoop loop,
            LongSupplier nanoClock,
            DoubleSupplier random,
            Supplier<@Nullable ActiveFaults> faults) {
        this(
                backend,
                instances,
                properties,
                loop,
                nanoClock,
                random,
                InjectedProbe.checks(
                        overNetwork(properties.probe()), faults, backend, properties::isExpected, loop, nanoClock));
    }

    HealthChecker(
            String backend,
            List<Instance> instances,
            HealthCheckProperties properties,
            EventLoop loop,
            LongSupplier nanoClock,
            DoubleSupplier random,
            ProbeRequest.CheckSender sender) {
        this.properties = properties;
        this.loop = loop;
        this.nanoClock = nanoClock;
        this.random = random;
        this.sender = sender;
        this.verdicts = new HealthChecks(
                backend, instances.stream().map(Instance::health).toList(), properties);
        for (Instance instance : instances) {
            checks.add(new Check(checks.size(), instance));
        }
    }

    /** Sends health checks over the network. */
    private static ProbeRequest.CheckSender overNetwork(CheckMode mode) {
        if (mode == CheckMode.TCP) {
            return (instance, request, outcome) -> TcpCheck.send(instance, outcome);
        }
        return (instance, request, outcome) -> {
            ProbeCall call = new ProbeCall(instance, request, outcome);
            call.send(() -> {});
            return call::giveUp;
        };
    }

    /** The event loop of the checks. */
    public EventLoop loop() {
        return loop;
    }

    /** Starts the checks. Called once. */
    public void start() {
        loop.execute(this::begin);
    }

    /**
     * Stops the checks for good. A check under way is given up.
     *
     * @param next starts in place of this checker; null: the instances are no longer checked, and those that
     *     their checks had taken out return with a probe
     */
    public void replaceBy(@Nullable HealthChecker next) {
        loop.execute(() -> {
            checks.forEach(Check::stop);
            if (next == null) {
                verdicts.release(nanoClock.getAsLong());
            } else {
                next.begin();
            }
        });
    }

    /** Stops the checks for good, and leaves the verdicts as they are: the gateway ends. */
    public void close() {
        loop.execute(() -> checks.forEach(Check::stop));
    }

    private void begin() {
        verdicts.takeOver();
        long intervalNanos = properties.interval().toNanos();
        checks.forEach(check -> check.sendAfter((long) (intervalNanos * random.getAsDouble())));
    }

    private String seconds() {
        return String.format(Locale.ROOT, "%.1f s", properties.timeout().toNanos() / NANOS_PER_SECOND);
    }

    private ProbeRequest request(Instance instance) {
        DefaultHttpHeaders head = new DefaultHttpHeaders();
        head.set(HttpHeaderNames.HOST, instance.authority());
        head.set(ProbeMark.WEIR_PROBE, "health-check");
        return switch (properties.probe()) {
            case GRPC_HEALTH -> GrpcHealth.of(Objects.requireNonNullElse(properties.grpcService(), ""), head);
            case PATH, TCP ->
                new ProbeRequest(
                        HttpMethod.GET,
                        Objects.requireNonNullElse(properties.path(), "/"),
                        head,
                        Unpooled.EMPTY_BUFFER,
                        (answer, from) ->
                                Mono.just(properties.isExpected(answer.status().code())));
        };
    }

    /** The check of one instance. */
    private final class Check {

        private final int index;
        private final Instance instance;
        private final ProbeRequest request;
        /** The check under way; null: none is. */
        private @Nullable Sent sent;

        private @Nullable Future<?> timer;

        Check(int index, Instance instance) {
            this.index = index;
            this.instance = instance;
            this.request = request(instance);
        }

        void sendAfter(long nanos) {
            timer = loop.schedule(this::send, nanos, TimeUnit.NANOSECONDS);
        }

        private void send() {
            Sent started = new Sent(this, nanoClock.getAsLong());
            sent = started;
            timer = loop.schedule(this::tick, properties.timeout().toNanos() / TICKS, TimeUnit.NANOSECONDS);
            try {
                started.giveUp = sender.send(instance, request, started);
            } catch (RuntimeException e) {
                log.error("Health check of {} failed inside the gateway", instance.uri(), e);
                end(started, () -> {});
            }
        }

        private void tick() {
            Sent waiting = sent;
            if (waiting == null) {
                return;
            }
            if (++waiting.ticks < TICKS) {
                timer = loop.schedule(this::tick, properties.timeout().toNanos() / TICKS, TimeUnit.NANOSECONDS);
                return;
            }
            waiting.giveUp.run();
            end(
                    waiting,
                    () -> verdicts.unanswered(
                            index, "gave no answer for " + seconds(), waiting.sentAt, nanoClock.getAsLong()));
        }

        /** Ends the check under way. Only its first end counts. */
        private void end(Sent ended, Runnable result) {
            if (sent != ended) {
                return;
            }
            sent = null;
            cancelTimer();
            result.run();
            long interval = (long) (properties.interval().toNanos() * (1 + JITTER * (2 * random.getAsDouble() - 1)));
            sendAfter(Math.max(0, ended.sentAt + interval - nanoClock.getAsLong()));
        }

        void stop() {
            cancelTimer();
            Sent waiting = sent;
            sent = null;
            if (waiting != null) {
                waiting.giveUp.run();
            }
        }

        private void cancelTimer() {
            if (timer != null) {
                timer.cancel(false);
                timer = null;
            }
        }
    }

    /** A check under way. The connection's event loop reports its end. */
    private final class Sent implements ProbeRequest.Outcome {

        private final Check check;
        private final long sentAt;
        private int ticks;
        private Runnable giveUp = () -> {};

        Sent(Check check, long sentAt) {
            this.check = check;
            this.sentAt = sentAt;
        }

        @Override
        public void good() {
            ended(() -> verdicts.passed(check.index, nanoClock.getAsLong()));
        }

        @Override
        public void bad(String why) {
            ended(() -> verdicts.failed(check.index, why, nanoClock.getAsLong()));
        }

        @Override
        public void failed(Throwable failure) {
            if (Failures.isLocal(failure)) {
                ended(() -> {});
                return;
            }
            String why = "failed: " + Failures.describe(failure);
            if (Failures.reason(failure, false) == Reason.CONNECT_TIMEOUT) {
                ended(() -> verdicts.unanswered(check.index, why, sentAt, nanoClock.getAsLong()));
            } else {
                bad(why);
            }
        }

        /** Always a task: the checks do not change while one of them is being sent. */
        private void ended(Runnable result) {
            try {
                loop.execute(() -> check.end(this, result));
            } catch (RejectedExecutionException e) {
                log.debug("No result of a health check on a stopped event loop", e);
            }
        }
    }
}
