package io.weir.probe;

import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.capacity.AgentProperties;
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
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Checks the instances of a backend at intervals: by their health checks, over the connections of their
 * pools, and by their agents. {@link HealthChecks} judges the results. A check is no call: it takes no
 * permit, and no call's measure counts it.
 *
 * <p>The cost is bounded: one check of each kind at a time for each instance ({@link RepeatedCheck}). A
 * failure of the gateway itself, such as a pool without a free connection, is no result.
 */
// Concurrency: confined to one event loop; `start`, `replaceBy` and `close` may be called on any thread. A
// successor uses the same event loop, so it starts after the end of this checker, and no result arrives in
// between.
public final class HealthChecker {

    private static final double NANOS_PER_SECOND = 1e9;

    private final List<Instance> instances;
    private final boolean hasAgents;
    private final RepeatedCheck.Timing timing;
    private final HealthChecks verdicts;
    private final List<RepeatedCheck> checks = new ArrayList<>();

    /**
     * A checker that has not {@linkplain #start started}.
     *
     * @param backend the backend's name
     * @param properties the health check; null: none
     * @param agent the agents; null: none
     * @param loop of a successor: the predecessor's
     * @param random 0 (inclusive) to 1 (exclusive); jitters the checks
     * @param faults the injected faults, which health checks get, too; null: none is active
     */
    public HealthChecker(
            String backend,
            List<Instance> instances,
            @Nullable HealthCheckProperties properties,
            @Nullable AgentProperties agent,
            EventLoop loop,
            LongSupplier nanoClock,
            DoubleSupplier random,
            Supplier<@Nullable ActiveFaults> faults) {
        this(backend, instances, properties, new RepeatedCheck.Timing(loop, nanoClock, random), agent != null);
        if (properties != null) {
            addHealthChecks(
                    properties,
                    InjectedProbe.checks(
                            overNetwork(properties.probe()), faults, backend, properties::isExpected, loop, nanoClock));
        }
        if (agent != null) {
            int port = agent.port();
            addAgents(backend, agent, (instance, answer) -> AgentCall.send(instance, port, answer));
        }
    }

    private HealthChecker(
            String backend,
            List<Instance> instances,
            @Nullable HealthCheckProperties properties,
            RepeatedCheck.Timing timing,
            boolean hasAgents) {
        this.instances = instances;
        this.timing = timing;
        this.hasAgents = hasAgents;
        this.verdicts = new HealthChecks(
                backend, instances.stream().map(Instance::health).toList(), properties);
    }

    /** A checker without a network, for tests. */
    static HealthChecker ofSenders(
            List<Instance> instances,
            @Nullable HealthCheckProperties properties,
            @Nullable AgentProperties agent,
            RepeatedCheck.Timing timing,
            ProbeRequest.CheckSender sender,
            AgentCheck.Sender agentSender) {
        HealthChecker checker = new HealthChecker("orders", instances, properties, timing, agent != null);
        if (properties != null) {
            checker.addHealthChecks(properties, sender);
        }
        if (agent != null) {
            checker.addAgents("orders", agent, agentSender);
        }
        return checker;
    }

    private void addHealthChecks(HealthCheckProperties properties, ProbeRequest.CheckSender sender) {
        for (int i = 0; i < instances.size(); i++) {
            checks.add(new HealthCheck(i, instances.get(i), properties, sender));
        }
    }

    private void addAgents(String backend, AgentProperties agent, AgentCheck.Sender sender) {
        for (int i = 0; i < instances.size(); i++) {
            checks.add(new AgentCheck(backend, i, instances.get(i), agent, sender, verdicts, timing));
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
        return timing.loop();
    }

    /** Starts the checks. Called once. */
    public void start() {
        loop().execute(this::begin);
    }

    /**
     * Stops the checks for good. A check under way is given up.
     *
     * @param next starts in place of this checker; null: the instances are no longer checked, and those that
     *     their checks had taken out return with a probe
     */
    public void replaceBy(@Nullable HealthChecker next) {
        loop().execute(() -> {
            checks.forEach(RepeatedCheck::stop);
            if (next == null) {
                forgetAgents();
                verdicts.release(timing.now());
            } else {
                next.begin();
            }
        });
    }

    /** Stops the checks for good, and leaves the verdicts as they are: the gateway ends. */
    public void close() {
        loop().execute(() -> checks.forEach(RepeatedCheck::stop));
    }

    private void begin() {
        if (!hasAgents) {
            forgetAgents();
        }
        verdicts.takeOver(index -> instances.get(index).capacity().agent().outWord());
        checks.forEach(RepeatedCheck::begin);
    }

    private void forgetAgents() {
        for (int i = 0; i < instances.size(); i++) {
            if (instances.get(i).capacity().forgetAgent()) {
                verdicts.weightChanged(i);
            }
        }
    }

    private static ProbeRequest request(HealthCheckProperties properties, Instance instance) {
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

    /** The health check of one instance. */
    private final class HealthCheck extends RepeatedCheck {

        private final int index;
        private final ProbeRequest request;
        private final ProbeRequest.CheckSender sender;
        private final String timeout;

        HealthCheck(int index, Instance instance, HealthCheckProperties properties, ProbeRequest.CheckSender sender) {
            super(instance, timing, properties.interval(), properties.timeout());
            this.index = index;
            this.request = request(properties, instance);
            this.sender = sender;
            this.timeout =
                    String.format(Locale.ROOT, "%.1f s", properties.timeout().toNanos() / NANOS_PER_SECOND);
        }

        @Override
        Runnable ask(Asked question) {
            return sender.send(instance, request, new Result(this, question));
        }

        @Override
        void unanswered(long sentAt) {
            verdicts.unanswered(index, "gave no answer for " + timeout, sentAt, now());
        }
    }

    /** The result of a check. The connection's event loop reports it. */
    private final class Result implements ProbeRequest.Outcome {

        private final HealthCheck check;
        private final RepeatedCheck.Asked question;

        Result(HealthCheck check, RepeatedCheck.Asked question) {
            this.check = check;
            this.question = question;
        }

        @Override
        public void good() {
            question.ended(() -> verdicts.passed(check.index, check.now()));
        }

        @Override
        public void bad(String why) {
            question.ended(() -> verdicts.failed(check.index, why, check.now()));
        }

        @Override
        public void failed(Throwable failure) {
            if (Failures.isLocal(failure)) {
                question.ended(() -> {});
                return;
            }
            String why = "failed: " + Failures.describe(failure);
            if (Failures.reason(failure, false) == Reason.CONNECT_TIMEOUT) {
                question.ended(() -> verdicts.unanswered(check.index, why, question.sentAt(), check.now()));
            } else {
                bad(why);
            }
        }
    }
}
