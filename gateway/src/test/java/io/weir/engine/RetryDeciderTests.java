package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Retry;
import io.weir.health.Generation;
import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.health.Probe;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.InstancesInForce;
import io.weir.instance.LoadBalancingProperties;
import io.weir.instance.Pool;
import io.weir.instance.TriedInstances;
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
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.netty.resources.LoopResources;

/**
 * An attempt that ends, and the policy, the budget and the instances that decide whether another one follows.
 */
abstract class RetryDeciderTests {

    static final long MILLIS = TimeUnit.MILLISECONDS.toNanos(1);
    static final Duration DEADLINE = Duration.ofSeconds(2);
    static final Duration BACKOFF = Duration.ofMillis(10);
    static final HttpHeaders NO_FIELDS = EmptyHttpHeaders.INSTANCE;
    static final Refuse LOST = new Refuse(Reason.CONNECTION_LOST, "reset");
    static final Refuse GONE = new Refuse(Reason.CONNECTION_LOST, "GOAWAY");

    /** Unused: no attempt acquires a connection. */
    static final Pool POOL = new Pool(
            "orders",
            URI.create("http://orders:8080"),
            UpstreamProtocol.HTTP1,
            new ConnectionProperties(Duration.ofSeconds(1), Duration.ofSeconds(4), Duration.ofMinutes(5), 16, null),
            1,
            null,
            LoopResources.create("retries", 1, true));

    final ExchangeFixture fixture = new ExchangeFixture();
    final long now = fixture.now();
    final List<Boolean> counted = new ArrayList<>();
    final RetryBudget budget = new RetryBudget(new RetryBudgetProperties(100, 0), now);
    final HealthSettings settings = TestHealth.settings(DEADLINE, 20, Duration.ofMillis(100));
    final Health health = TestHealth.of(settings, () -> now);
    Instances instances = instances(1);

    @Nullable
    RetryPolicy policy;

    Mode mode = Mode.REQUEST;
    int attempts = 1;
    long elapsed;

    @Nullable
    TriedInstances tried;

    @Nullable
    Probe probe;

    RetryDeciderTests() {
        budget.deposit();
        budget.deposit();
    }

    Instances instances(int count) {
        if (count == 1) {
            return Instances.of(new Instance(URI.create("http://orders:8080"), POOL, health));
        }
        List<Instance> all = IntStream.range(0, count)
                .mapToObj(i -> "http://orders-" + i + ":8080")
                .map(address -> new Instance(
                        URI.create(address),
                        1,
                        POOL,
                        Health.ofInstance("orders", address, settings, TestHealth.unlimited(), () -> now, () -> 0.5)))
                .toList();
        Instances several = Instances.of(all, health, LoadBalancingProperties.defaults(), bound -> 0, opened -> {});
        several.takeOver();
        return several;
    }

    /** Three attempts at most. */
    void retry503() {
        policy = new RetryPolicy(new RetryProperties(3, null, BACKOFF, Set.of(503)));
    }

    void emptyBudget() {
        while (budget.tryWithdraw(0, now)) {
            // Until it is empty.
        }
    }

    OneAttempt attempt() {
        Backend backend = backend();
        Route route = TestRoute.to(backend, ended -> {})
                .deadline(DEADLINE)
                .mode(mode)
                .retry(policy)
                .build();
        Exchange exchange = new Exchange(fixture.engine, route, fixture.caller, now - elapsed);
        exchange.record().attempts = attempts;
        exchange.record().tried = tried;
        HealthEvidence evidence = probe == null
                ? HealthEvidence.ofCall(health, generation(), null, exchange, now)
                : HealthEvidence.ofProbe(health, probe, exchange, now);
        return new OneAttempt(exchange, new Admission(exchange, backend, null), evidence, now);
    }

    Generation generation() {
        return Objects.requireNonNull(health.enter(now, false));
    }

    Backend backend() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(1, 0);
        return new Backend(
                new BackendSettings(
                        "orders",
                        false,
                        DEADLINE.toNanos(),
                        DEADLINE.toNanos(),
                        DEADLINE.toNanos(),
                        DEADLINE.toNanos(),
                        BackendSettings.bits(Set.of(503)),
                        BackendSettings.bits(Set.of()),
                        true),
                new Compartment(
                        bulkhead,
                        new LimitInForce(bulkhead, fixture.limit),
                        new QueueingBulkhead(1, 0),
                        new InstancesInForce(instances),
                        new ServiceTimeEstimate(new LittlesLawProperties(Duration.ofSeconds(1)), health, () -> now),
                        new InFlightShare()),
                budget,
                null,
                new Counting());
    }

    void assertRetried(@Nullable Retry retry, Retry expected) {
        assertThat(retry).isEqualTo(expected);
        assertThat(budget.available()).as("retries left").isOne();
        assertThat(counted).containsExactly(true);
    }

    void assertNotRetried(@Nullable Retry retry) {
        assertThat(retry).isNull();
        assertThat(budget.available()).as("retries left").isEqualTo(2);
        assertThat(counted).isEmpty();
    }

    /** Counts the retries that were asked of the budget. */
    private final class Counting implements BackendObserver {

        @Override
        public void dispatched(Priority priority, long queueNanos, long leftNanos) {}

        @Override
        public void served(long backendNanos) {}

        @Override
        public void retried(boolean allowed) {
            counted.add(allowed);
        }

        @Override
        public void wouldRefuse(Reason reason) {}
    }

    /** An attempt without a connection. */
    static final class OneAttempt extends Attempt {

        boolean isUnsent;
        int withdrawals;

        OneAttempt(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
            super(exchange, admission, evidence, now);
        }

        @Override
        public boolean withdraw() {
            withdrawals++;
            return isUnsent;
        }

        @Override
        public void start() {}

        @Override
        public void cancel() {}

        @Override
        public boolean isConnected() {
            return !isUnsent;
        }

        @Override
        public long callerNanos(long now) {
            return 0;
        }

        @Override
        public boolean isWaitingForUpload() {
            return false;
        }

        @Override
        public long lastMovedNanos() {
            return Long.MIN_VALUE;
        }

        @Override
        public long answerBytes() {
            return 0;
        }

        @Override
        public boolean isHeldUpByCaller() {
            return false;
        }
    }
}
