package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.health.BackendRoutes;
import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.health.RouteHealth;
import io.weir.hedge.HedgeDelay;
import io.weir.hedge.HedgePolicy;
import io.weir.hedge.HedgeProperties;
import io.weir.hedge.HedgeResult;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.InstancesInForce;
import io.weir.instance.LoadBalancingProperties;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.LimitInForce;
import io.weir.limit.LittlesLawProperties;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import io.weir.overload.InFlightShare;
import io.weir.retry.RetryBudget;
import io.weir.retry.RetryBudgetProperties;
import io.weir.retry.RetryPolicy;
import io.weir.retry.RetryProperties;
import io.weir.testing.TestHealth;
import io.weir.testing.TestRoute;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.netty.resources.LoopResources;

/**
 * A call of a route whose calls are sent a second time after {@link #AFTER}, to a backend of several
 * instances, in virtual time.
 */
final class HedgedCall {

    static final Duration AFTER = Duration.ofMillis(80);
    static final int LIMIT = 4;
    private static final Duration MILLI = Duration.ofMillis(1);

    final ExchangeFixture fixture = new ExchangeFixture();
    final QueueingBulkhead bulkhead = new QueueingBulkhead(LIMIT, LIMIT);
    final QueueingBulkhead streams = new QueueingBulkhead(LIMIT, 0);
    final QueueingBulkhead routeLimit = new QueueingBulkhead(LIMIT, 0);
    final LimitInForce limit = new LimitInForce(bulkhead, fixture.limit);
    final HealthSettings settings = TestHealth.settings(
            ExchangeFixture.DEADLINE,
            100,
            ExchangeFixture.STALL,
            TestHealth.settings(ExchangeFixture.DEADLINE, 100, ExchangeFixture.STALL)
                    .recovery());
    final Health health = TestHealth.of(settings, TestHealth.permitsOf(bulkhead), fixture::now);
    final RetryBudget budget = new RetryBudget(new RetryBudgetProperties(100, 0), fixture.now());
    final List<HedgeResult> results = new ArrayList<>();
    /** Whether each attempt was the first one of its exchange. */
    final List<Boolean> attempted = new ArrayList<>();

    final List<ExchangeRecord> ended = new ArrayList<>();
    final InstancesInForce instances;
    Mode mode = Mode.REQUEST;
    private final HedgePolicy policy;
    private @Nullable RetryPolicy retry;
    private @Nullable RouteHealth routeHealth;
    private @Nullable Exchange exchange;

    HedgedCall() {
        this(3);
    }

    /** A backend with so many instances. */
    HedgedCall(int count) {
        this(count, new HedgeProperties(HedgeDelay.of(AFTER), true));
    }

    HedgedCall(int count, HedgeProperties properties) {
        this.policy = HedgePolicy.of(properties, null);
        this.instances = new InstancesInForce(instances(count));
        budget.deposit();
    }

    private Instances instances(int count) {
        if (count == 1) {
            return Instances.of(new Instance(URI.create("http://orders:8080"), pool(), health));
        }
        List<Instance> all = IntStream.range(0, count)
                .mapToObj(i -> "http://orders-" + i + ":8080")
                .map(address -> new Instance(
                        URI.create(address),
                        1,
                        pool(),
                        Health.ofInstance(
                                "orders", address, settings, TestHealth.permitsOf(bulkhead), fixture::now, () -> 0.5)))
                .toList();
        Instances several =
                Instances.of(all, health, LoadBalancingProperties.defaults(), bound -> 0, fixture.engine::leave);
        several.takeOver();
        return several;
    }

    /** Unused: no attempt acquires a connection. */
    private static Pool pool() {
        return new Pool(
                "orders",
                URI.create("http://orders:8080"),
                UpstreamProtocol.HTTP1,
                new ConnectionProperties(
                        ExchangeFixture.CONNECT_TIMEOUT, Duration.ofSeconds(4), Duration.ofMinutes(5), 16, null),
                1,
                null,
                LoopResources.create("hedged", 1, true));
    }

    /** Answers with 503 are retried. */
    HedgedCall withRetry() {
        retry = new RetryPolicy(new RetryProperties(3, null, ExchangeFixture.BACKOFF, Set.of(503)));
        return this;
    }

    HedgedCall withAttemptTimeout(Duration timeout) {
        retry = new RetryPolicy(new RetryProperties(2, timeout, ExchangeFixture.BACKOFF, Set.of(503)));
        return this;
    }

    /** The backend has another route. */
    RouteHealth withOtherRoute() {
        BackendRoutes routes = health.role().routes();
        Map<String, RouteHealth> planned = routes.plan(Set.of("orders", "others"));
        routes.replace(planned.values());
        RouteHealth own = Objects.requireNonNull(planned.get("orders"));
        routeHealth = own;
        return own;
    }

    HedgedCall emptyBudget() {
        while (budget.tryWithdraw(0, fixture.now())) {
            // Until it is empty.
        }
        return this;
    }

    /** Starts a call, whose first attempt is connected. */
    HedgedCall start() {
        Route route = TestRoute.to(backend(), ended::add)
                .deadline(ExchangeFixture.DEADLINE)
                .mode(mode)
                .limit(routeLimit)
                .callsPerKey(fixture.callsPerKey)
                .retry(retry)
                .hedge(policy)
                .health(routeHealth)
                .learning(fixture.overdue, fixture.inFlight, fixture.usualTime)
                .build();
        Exchange created = new Exchange(fixture.engine, route, fixture.caller, fixture.now());
        exchange = created;
        created.start();
        if (!fixture.attempts.isEmpty()) {
            fixture.attempt().connects();
        }
        return this;
    }

    /** The time of the hedge comes. */
    HedgedCall hedgeIsDue() {
        fixture.advance(AFTER.minus(MILLI));
        assertThat(results).as("before its time").isEmpty();
        fixture.advance(MILLI);
        return this;
    }

    /** Both attempts run. */
    HedgedCall startBoth() {
        start().hedgeIsDue();
        assertThat(results).containsExactly(HedgeResult.STARTED);
        assertThat(fixture.attempts).hasSize(2);
        assertThat(first().instance.isSameAs(second().instance)).isFalse();
        assertThat(bulkhead.inUse()).isEqualTo(2);
        second().connects();
        return this;
    }

    private Backend backend() {
        return new Backend(
                new BackendSettings(
                        "orders",
                        false,
                        ExchangeFixture.DEADLINE.toNanos(),
                        ExchangeFixture.MAX_WAIT.toNanos(),
                        ExchangeFixture.CONNECT_TIMEOUT.toNanos(),
                        ExchangeFixture.STREAM_IDLE.toNanos(),
                        BackendSettings.bits(Set.of(500, 503)),
                        BackendSettings.bits(Set.of()),
                        true),
                new Compartment(
                        bulkhead,
                        limit,
                        streams,
                        instances,
                        new ServiceTimeEstimate(new LittlesLawProperties(Duration.ofSeconds(1)), health, fixture::now),
                        new InFlightShare()),
                budget,
                null,
                new Recording());
    }

    FakeAttempt first() {
        return fixture.attempts.get(0);
    }

    FakeAttempt second() {
        return fixture.attempts.get(1);
    }

    Exchange exchange() {
        return Objects.requireNonNull(exchange);
    }

    ExchangeRecord record() {
        return exchange().record();
    }

    /** What the caller got, and what came of the hedge. */
    String outcome() {
        Reason reason = record().reason();
        HedgeResult hedge = record().hedge();
        return (reason == null ? "" : reason.word() + " ") + record().status() + " "
                + (hedge == null ? "not due" : hedge.word());
    }

    /** The exchange has ended once, and everything is back. */
    HedgedCall assertEndedCleanly() {
        exchange().flushed();
        fixture.channel.runPendingTasks();
        assertThat(ended).as("ended").containsExactly(record());
        assertThat(bulkhead.inUse()).as("permits in use").isZero();
        assertThat(bulkhead.queued()).as("queued").isZero();
        assertThat(streams.inUse()).as("streams").isZero();
        assertThat(routeLimit.inUse()).as("permits of the route").isZero();
        if (fixture.callsPerKey != null) {
            assertThat(fixture.callsPerKey.keys()).as("callers with calls").isZero();
        }
        assertThat(instances.get().all()).allSatisfy(one -> {
            assertThat(one.inFlight()).as("calls of %s", one.shownAddress()).isZero();
            assertThat(one.health().overdue())
                    .as("overdue at %s", one.shownAddress())
                    .isZero();
        });
        assertThat(fixture.overdue.held()).as("overdue calls of the route").isZero();
        assertThat(fixture.engine.inFlight()).as("in flight").isZero();
        assertThat(fixture.inFlight.isZero()).as("no exchange of the route").isTrue();
        assertThat(fixture.limit.ended).as("one sample for each permit").hasSize(fixture.limit.started);
        assertThat(fixture.channel.runScheduledPendingTasks()).as("next timer").isEqualTo(-1);
        assertThat(fixture.attempts)
                .allSatisfy(
                        one -> assertThat(one.cancelled).as("times cancelled").isLessThanOrEqualTo(1));
        return this;
    }

    /** The calls that the breakers of both instances recorded as failed. */
    int failuresOf(FakeAttempt attempt) {
        return attempt.instance.health().resilience4j().getMetrics().getNumberOfFailedCalls();
    }

    private final class Recording implements BackendObserver {

        @Override
        public void dispatched(Priority priority, long queueNanos, long leftNanos) {}

        @Override
        public void served(long backendNanos) {}

        @Override
        public void attempted(boolean isFirst) {
            attempted.add(isFirst);
        }

        @Override
        public void retried(boolean allowed) {}

        @Override
        public void wouldRefuse(Reason reason) {}

        @Override
        public void hedged(HedgeResult result) {
            results.add(result);
        }
    }
}
