package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.bulkhead.BulkheadFullException;
import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.bulkhead.event.BulkheadEvent;
import io.github.resilience4j.micrometer.tagged.TaggedBulkheadMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.limit.QueueingBulkhead.Entry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RegisteredBulkheadTest {

    private static final String AVAILABLE = "resilience4j.bulkhead.available.concurrent.calls";
    private static final String ALLOWED = "resilience4j.bulkhead.max.allowed.concurrent.calls";

    private final BulkheadRegistry registry = BulkheadRegistry.ofDefaults();
    private final QueueingBulkhead bulkhead = new QueueingBulkhead(2, 1);

    @Test
    void registersUnderItsName() {
        RegisteredBulkhead registered = register("orders");

        assertThat(registry.find("orders")).containsSame(registered);
        assertThat(registry.bulkhead("orders")).isSameAs(registered);
        assertThat(registry.getAllBulkheads()).containsExactly(registered);
        assertThat(registered.getName()).isEqualTo("orders");
    }

    @Test
    void replacesAnotherBulkheadOfThatName() {
        registry.bulkhead("orders");
        register("orders");

        RegisteredBulkhead latest = register("orders");

        assertThat(registry.getAllBulkheads()).containsExactly(latest);
    }

    @Test
    void addsItsTagsToTheRegistrysTags() {
        BulkheadRegistry tagged =
                BulkheadRegistry.of(BulkheadConfig.ofDefaults(), Map.of("zone", "a", "team", "everybody"));

        RegisteredBulkhead registered = RegisteredBulkhead.register(
                tagged, "orders", bulkhead, new LimitInForce(bulkhead), Map.of("team", "shop"));

        assertThat(registered.getTags()).containsOnly(Map.entry("zone", "a"), Map.entry("team", "shop"));
    }

    @Test
    void resilience4jsMetersShowItWhetherRegisteredBeforeOrAfterThem() {
        MeterRegistry meters = new SimpleMeterRegistry();
        register("before");
        TaggedBulkheadMetrics.ofBulkheadRegistry(registry).bindTo(meters);
        QueueingBulkhead after = new QueueingBulkhead(7, 0);
        RegisteredBulkhead.register(registry, "after", after, new LimitInForce(after), Map.of("kind", "route"));

        bulkhead.tryAcquire();

        assertThat(gauge(meters, AVAILABLE, "before")).isEqualTo(1);
        assertThat(gauge(meters, ALLOWED, "before")).isEqualTo(2);
        assertThat(gauge(meters, AVAILABLE, "after")).isEqualTo(7);
        assertThat(meters.get(ALLOWED)
                        .tags("name", "after", "kind", "route")
                        .gauge()
                        .value())
                .isEqualTo(7);
        bulkhead.resize(5, 1);
        assertThat(gauge(meters, ALLOWED, "before")).isEqualTo(5);
        assertThat(gauge(meters, AVAILABLE, "before")).isEqualTo(4);
    }

    @Test
    void reportsZeroAvailablePermitsAboveALoweredLimit() {
        RegisteredBulkhead registered = register("orders");
        bulkhead.tryAcquire();
        bulkhead.tryAcquire();

        bulkhead.resize(1, 1);

        assertThat(registered.getMetrics().getAvailableConcurrentCalls()).isZero();
        assertThat(registered.getMetrics().getMaxAllowedConcurrentCalls()).isEqualTo(1);
    }

    @Test
    void sharesItsPermitsWithTheQueueingBulkhead() {
        RegisteredBulkhead registered = register("orders");

        assertThat(registered.tryAcquirePermission()).isTrue();
        assertThat(bulkhead.tryAcquire()).isTrue();
        assertThat(registered.tryAcquirePermission()).isFalse();
        registered.releasePermission();
        registered.onComplete();

        assertThat(bulkhead.inUse()).isZero();
    }

    @Test
    void throwsWithoutWaitingWhenFull() {
        RegisteredBulkhead registered = register("orders");
        registered.acquirePermission();
        registered.acquirePermission();

        assertThatExceptionOfType(BulkheadFullException.class)
                .isThrownBy(registered::acquirePermission)
                .withMessageContaining("orders")
                .satisfies(full -> assertThat(full.getStackTrace()).isEmpty());
        assertThat(bulkhead.inUse()).isEqualTo(2);
        assertThat(bulkhead.queued()).isZero();
    }

    @Test
    void doesNotOvertakeTheQueue() {
        RegisteredBulkhead registered = register("orders");
        registered.acquirePermission();
        registered.acquirePermission();
        List<String> granted = new ArrayList<>();
        assertThat(bulkhead.enter(new Waiter() {
                    @Override
                    protected void granted() {
                        granted.add("waiter");
                    }
                }))
                .isEqualTo(Entry.QUEUED);

        registered.onComplete();

        assertThat(granted).containsExactly("waiter");
        assertThat(registered.tryAcquirePermission()).isFalse();
    }

    @Test
    void decoratesCallsLikeAnyResilience4jBulkhead() {
        RegisteredBulkhead registered = register("orders");

        int inUse = registered.executeSupplier(bulkhead::inUse);

        assertThat(inUse).isEqualTo(1);
        assertThat(bulkhead.inUse()).isZero();
    }

    @Test
    void publishesTheEventsOfItsCalls() {
        RegisteredBulkhead registered = register("orders");
        List<BulkheadEvent.Type> events = new ArrayList<>();
        registered.getEventPublisher().onEvent(event -> events.add(event.getEventType()));

        registered.tryAcquirePermission();
        registered.tryAcquirePermission();
        registered.tryAcquirePermission();
        registered.onComplete();
        registered.releasePermission();

        assertThat(events)
                .containsExactly(
                        BulkheadEvent.Type.CALL_PERMITTED,
                        BulkheadEvent.Type.CALL_PERMITTED,
                        BulkheadEvent.Type.CALL_REJECTED,
                        BulkheadEvent.Type.CALL_FINISHED);
    }

    @Test
    void publishingForTheEngineChangesNoPermits() {
        RegisteredBulkhead registered = register("orders");
        List<BulkheadEvent> events = new ArrayList<>();
        registered
                .getEventPublisher()
                .onCallPermitted(events::add)
                .onCallRejected(events::add)
                .onCallFinished(events::add);

        registered.publishPermitted();
        registered.publishRejected();
        registered.publishFinished();

        assertThat(events)
                .extracting(BulkheadEvent::getEventType)
                .containsExactly(
                        BulkheadEvent.Type.CALL_PERMITTED,
                        BulkheadEvent.Type.CALL_REJECTED,
                        BulkheadEvent.Type.CALL_FINISHED);
        assertThat(events).extracting(BulkheadEvent::getBulkheadName).containsOnly("orders");
        assertThat(bulkhead.inUse()).isZero();
    }

    @Test
    void configurationShowsTheLimitInForce() {
        RegisteredBulkhead registered = register("orders");
        bulkhead.resize(9, 1);

        assertThat(registered.getBulkheadConfig().getMaxConcurrentCalls()).isEqualTo(9);
        assertThat(registered.getBulkheadConfig().getMaxWaitDuration()).isZero();
        assertThat(registered.getBulkheadConfig().isFairCallHandlingEnabled()).isTrue();
    }

    @Test
    void changedConfigurationResizesAtOnceAndKeepsTheQueue() {
        Bulkhead registered = register("orders");
        registered.acquirePermission();
        registered.acquirePermission();

        registered.changeConfig(BulkheadConfig.from(registered.getBulkheadConfig())
                .maxConcurrentCalls(1)
                .writableStackTraceEnabled(true)
                .build());

        assertThat(bulkhead).hasToString("2 of 1 in use, 0 of 1 queued");
        assertThat(registered.getBulkheadConfig().getMaxConcurrentCalls()).isEqualTo(1);
        assertThatExceptionOfType(BulkheadFullException.class)
                .isThrownBy(registered::acquirePermission)
                .satisfies(full -> assertThat(full.getStackTrace()).isNotEmpty());
    }

    @Test
    void rejectsAnUnsupportedConfiguration() {
        RegisteredBulkhead registered = register("orders");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> registered.changeConfig(BulkheadConfig.custom()
                        .maxWaitDuration(Duration.ofMillis(5))
                        .build()))
                .withMessageStartingWith("maxWaitDuration: PT0.005S (expected: 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> registered.changeConfig(BulkheadConfig.custom()
                        .fairCallHandlingStrategyEnabled(false)
                        .build()))
                .withMessageStartingWith("fairCallHandlingEnabled: false (expected: true");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> registered.changeConfig(
                        BulkheadConfig.custom().maxConcurrentCalls(0).build()))
                .withMessage("max-concurrent-calls: 0 (expected: 1 to 1000000)");
        assertThat(bulkhead).hasToString("0 of 2 in use, 0 of 1 queued");
    }

    private RegisteredBulkhead register(String name) {
        return RegisteredBulkhead.register(registry, name, bulkhead, new LimitInForce(bulkhead), Map.of());
    }

    private static double gauge(MeterRegistry meters, String meter, String name) {
        return meters.get(meter).tag("name", name).gauge().value();
    }
}
