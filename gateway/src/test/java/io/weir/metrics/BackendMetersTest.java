package io.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.hedge.HedgeResult;
import io.weir.instance.AddressSource;
import io.weir.instance.InstanceAddress;
import io.weir.instance.PolledAddresses;
import io.weir.limit.LimitSettings;
import io.weir.limit.Priority;
import io.weir.limit.Waiter;
import io.weir.outcome.Reason;
import io.weir.testing.Allocation;
import io.weir.testing.ObservedGateway;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.MBeanServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

class BackendMetersTest {

    private static final long MS = 1_000_000;

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final ObservedGateway fixture = new ObservedGateway();
    private final BackendMeters meters = fixture.backendMeters(new MeterBook(registry));

    @AfterEach
    void close() {
        meters.close();
        fixture.close();
    }

    @Test
    void recordsQueueWaitTimeLeftAndServiceTime() {
        meters.dispatched(Priority.NORMAL, 5 * MS, 700 * MS);
        meters.dispatched(Priority.NORMAL, 0, 800 * MS);
        meters.served(40 * MS);

        assertThat(millis(BackendMeter.QUEUE_WAIT)).isEqualTo(5);
        assertThat(registry.get(BackendMeter.QUEUE_WAIT.definition().meterName())
                        .timer()
                        .count())
                .isEqualTo(2);
        assertThat(millis(BackendMeter.BUDGET_LEFT)).isEqualTo(1_500);
        assertThat(millis(BackendMeter.SERVICE_TIME)).isEqualTo(40);
    }

    /** A timer has 17 series in a scrape, and most of many backends are idle. */
    @Test
    void hasNoSeriesOfWhatHasNotHappened() {
        Set<String> later = Stream.of(
                        BackendMeter.QUEUE_WAIT,
                        BackendMeter.BUDGET_LEFT,
                        BackendMeter.SERVICE_TIME,
                        BackendMeter.ATTEMPTS)
                .map(meter -> meter.definition().meterName())
                .collect(Collectors.toSet());

        assertThat(registry.getMeters())
                .isNotEmpty()
                .noneMatch(meter -> later.contains(meter.getId().getName()));
        assertThat(meters.served() + meters.dispatched() + meters.firstAttempts() + meters.repeatedAttempts())
                .isZero();

        meters.attempted(true);

        assertThat(registry.find(BackendMeter.ATTEMPTS.definition().meterName()).counters())
                .hasSize(1);
    }

    @Test
    void createsNoSeriesAfterItsEnd() {
        meters.close();

        meters.dispatched(Priority.NORMAL, 5 * MS, 700 * MS);
        meters.served(40 * MS);
        meters.attempted(true);

        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void countsRetriesByVerdict() {
        meters.retried(true);
        meters.retried(false);
        meters.retried(false);

        assertThat(value(BackendMeter.RETRIES, "verdict", "allowed")).isEqualTo(1);
        assertThat(value(BackendMeter.RETRIES, "verdict", "denied")).isEqualTo(2);
    }

    @Test
    void countsHedgesByResult() {
        meters.hedged(HedgeResult.STARTED);
        meters.hedged(HedgeResult.WON);
        meters.hedged(HedgeResult.STARTED);
        meters.hedged(HedgeResult.NO_PERMIT);

        assertThat(value(BackendMeter.HEDGES, "result", "started")).isEqualTo(2);
        assertThat(meters.hedges()).isEqualTo(Map.of("started", 2L, "won", 1L, "no-permit", 1L));
    }

    @Test
    void countsAttempts() {
        meters.attempted(true);
        meters.attempted(true);
        meters.attempted(false);

        assertThat(value(BackendMeter.ATTEMPTS, "attempt", "first")).isEqualTo(2);
        assertThat(value(BackendMeter.ATTEMPTS, "attempt", "repeated")).isEqualTo(1);
        assertThat(meters.firstAttempts()).isEqualTo(2);
        assertThat(meters.repeatedAttempts()).isEqualTo(1);
    }

    @Test
    void showsThePresentStateOfTheCompartment() {
        fixture.bulkhead.tryAcquire();
        fixture.bulkhead.tryAcquire();
        fixture.bulkhead.enter(new Waiter() {
            @Override
            protected void granted() {
                // Only the resize below could grant it.
            }
        });
        fixture.streams.tryAcquire();
        for (int i = 0; i < 5; i++) {
            fixture.retryBudget.deposit();
        }

        assertThat(value(BackendMeter.PERMITS_USED)).isEqualTo(2);
        assertThat(value(BackendMeter.PERMITS_LIMIT)).isEqualTo(2);
        assertThat(value(BackendMeter.QUEUE_LENGTH)).isEqualTo(1);
        assertThat(value(BackendMeter.QUEUE_CAPACITY)).isEqualTo(3);
        assertThat(value(BackendMeter.STREAMS_USED)).isEqualTo(1);
        assertThat(value(BackendMeter.STREAMS_LIMIT)).isEqualTo(5);
        assertThat(value(BackendMeter.RETRY_BUDGET)).isEqualTo(1);
        assertThat(value(BackendMeter.POOL_LIMIT)).isEqualTo(23);
        assertThat(value(BackendMeter.POOL_CONNECTIONS, "state", "acquired")).isZero();
        assertThat(value(BackendMeter.POOL_CONNECTIONS, "state", "idle")).isZero();
        assertThat(value(BackendMeter.POOL_PENDING)).isZero();

        fixture.bulkhead.resize(9, 4);

        assertThat(value(BackendMeter.PERMITS_LIMIT)).isEqualTo(9);
        assertThat(value(BackendMeter.QUEUE_CAPACITY)).isEqualTo(4);
    }

    @Test
    void showsForHowLongTheLookUpsOfTheAddressesHaveFailed() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        PolledAddresses source = new PolledAddresses(
                "DNS of orders",
                InstanceAddress.unknown(URI.create("http://orders:8080")),
                () -> Mono.error(new UnknownHostException("orders")),
                Duration.ofSeconds(5),
                Duration.ofSeconds(10),
                time,
                () -> time.now(TimeUnit.NANOSECONDS));
        assertThat(value(BackendMeter.ADDRESSES_STALE)).isZero();

        meters.showAddresses(source.start());
        time.advanceTimeBy(Duration.ofSeconds(30));
        assertThat(value(BackendMeter.ADDRESSES_STALE)).isEqualTo(30);

        meters.showAddresses(AddressSource.of(List.of(InstanceAddress.of(URI.create("http://orders:8080"), 1))));
        assertThat(value(BackendMeter.ADDRESSES_STALE)).as("listed").isZero();
        source.close();
        time.dispose();
    }

    @Test
    void showsTheStateOfTheBreaker() {
        assertState("closed", false);
        fixture.health.resilience4j().transitionToOpenState();
        assertState("open", false);
        fixture.health.resilience4j().transitionToHalfOpenState();
        assertState("half-open", false);
        fixture.health.operator().forceOpen();
        assertState("forced-open", true);
        fixture.health.operator().forceClosed();
        assertState("forced-closed", true);
        fixture.health.operator().release();
        assertState("closed", false);
    }

    @Test
    void showsProbesAndOverdueCalls() {
        fixture.health.overdueBegan();
        fixture.health.resilience4j().transitionToOpenState();
        fixture.clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
        fixture.health.probes().tryStart(fixture.clock.get(), 0, false);

        assertThat(value(BackendMeter.CALLS_OVERDUE)).isEqualTo(1);
        assertThat(value(BackendMeter.BREAKER_PROBES)).isEqualTo(1);
    }

    @Test
    void countsShedExchangesByReason() {
        meters.shed(Reason.CIRCUIT_OPEN, Priority.NORMAL);
        meters.shed(Reason.QUEUE_TIMEOUT, Priority.NORMAL);
        meters.shed(Reason.QUEUE_TIMEOUT, Priority.SHEDDABLE);

        assertThat(value(BackendMeter.SHED, "reason", "circuit-open")).isEqualTo(1);
        assertThat(value(BackendMeter.SHED, "reason", "queue-timeout")).isEqualTo(2);
        assertThat(value(BackendMeter.SHED, "priority", "sheddable")).isEqualTo(1);
    }

    @Test
    void countsPermitsAndShowsWaitingCallsByPriority() {
        fixture.bulkhead.acquireAnyway();
        fixture.bulkhead.acquireAnyway();
        fixture.bulkhead.enter(new Waiter() {
            @Override
            protected void granted() {}

            @Override
            protected Priority priority() {
                return Priority.CRITICAL;
            }
        });
        meters.dispatched(Priority.CRITICAL, 0, 1);
        meters.dispatched(Priority.SHEDDABLE, 0, 1);
        meters.dispatched(Priority.SHEDDABLE, 0, 1);

        assertThat(value(BackendMeter.QUEUE_WAITING, "priority", "critical")).isEqualTo(1);
        assertThat(value(BackendMeter.QUEUE_WAITING, "priority", "normal")).isZero();
        assertThat(value(BackendMeter.PERMITS_GRANTED, "priority", "critical")).isEqualTo(1);
        assertThat(value(BackendMeter.PERMITS_GRANTED, "priority", "sheddable")).isEqualTo(2);
        assertThat(meters.dispatched()).isEqualTo(3);
    }

    @Test
    void showsLittlesLawInSecondsAndOverJmxInMilliseconds() throws JMException {
        serve(3_000, 5 * MS, 20 * MS);
        fixture.bulkhead.tryAcquire();

        assertThat(value(BackendMeter.LAW_ARRIVAL_RATE)).isCloseTo(100, within(1.0));
        assertThat(value(BackendMeter.LAW_SERVICE_TIME)).isEqualTo(0.02);
        assertThat(value(BackendMeter.LAW_WAITING_TIME)).isEqualTo(0.005);
        assertThat(value(BackendMeter.LAW_ACTIVE_CALLS)).isCloseTo(2, within(0.1));
        assertThat(value(BackendMeter.LAW_WAITING_RATIO)).isEqualTo(0.2);
        assertThat(value(BackendMeter.LAW_UNCONGESTED_TIME)).isEqualTo(0.02);
        assertThat(value(BackendMeter.LAW_SUGGESTED_LIMIT)).isEqualTo(5);

        assertThat(attribute("ArrivalRate")).isCloseTo(100, within(1.0));
        assertThat(attribute("AverageServiceTimeMillis")).isEqualTo(20);
        assertThat(attribute("AverageWaitingTimeMillis")).isEqualTo(5);
        assertThat(attribute("AverageActive")).isCloseTo(2, within(0.1));
        assertThat(attribute("AverageWaiting")).isCloseTo(0.5, within(0.1));
        assertThat(attribute("WaitingShare")).isEqualTo(0.2);
        assertThat(attribute("RetiredRequests")).isEqualTo(3_000);
        assertThat(attribute("Active")).isEqualTo(1);
        assertThat(attribute("Waiting")).isZero();
        assertThat(attribute("Limit")).isEqualTo(2);
        assertThat(attribute("UncongestedServiceTimeMillis")).isEqualTo(20);
        assertThat(attribute("SuggestedLimit")).isEqualTo(5);
    }

    @Test
    void showsAFixedLimitWithoutBeliefs() {
        assertThat(value(BackendMeter.LIMIT)).isEqualTo(2);
        assertThat(value(BackendMeter.LIMIT_MIN)).isEqualTo(2);
        assertThat(value(BackendMeter.LIMIT_MAX)).isEqualTo(2);
        assertThat(value(BackendMeter.LIMIT_CHANGES)).isZero();
        assertThat(value(BackendMeter.LIMIT_BASE_LATENCY)).isZero();
        assertThat(value(BackendMeter.LIMIT_ANSWER_RATE)).isZero();
        assertThat(value(BackendMeter.LIMIT_UTILISATION)).isZero();
    }

    @Test
    void showsTheAdaptiveLimitItsBasisAndItsChangesByReason() throws JMException {
        fixture.adapt();
        assertThat(value(BackendMeter.LIMIT)).isEqualTo(8);
        assertThat(value(BackendMeter.LIMIT_MIN)).isEqualTo(2);
        assertThat(value(BackendMeter.LIMIT_MAX)).isEqualTo(100);

        fixture.serveSaturated(200, 50 * MS);

        int found = fixture.limit.limit().value();
        assertThat(found).isGreaterThan(8);
        assertThat(value(BackendMeter.LIMIT)).isEqualTo(found);
        assertThat(value(BackendMeter.PERMITS_LIMIT)).isEqualTo(found);
        assertThat(value(BackendMeter.LIMIT_CHANGES, "reason", "growth")).isPositive();
        assertThat(value(BackendMeter.LIMIT_CHANGES, "reason", "timeouts")).isZero();
        assertThat(value(BackendMeter.LIMIT_BASE_LATENCY)).isCloseTo(.05, within(.01));
        assertThat(value(BackendMeter.LIMIT_ANSWER_RATE)).isPositive();
        assertThat(value(BackendMeter.LIMIT_UTILISATION)).isGreaterThan(.9);
        // One estimate.
        assertThat(value(BackendMeter.LAW_SUGGESTED_LIMIT)).isEqualTo(found);
        assertThat(attribute("SuggestedLimit")).isEqualTo(found);
        assertThat(value(BackendMeter.LAW_UNCONGESTED_TIME)).isEqualTo(value(BackendMeter.LIMIT_BASE_LATENCY));
    }

    @Test
    void showsTheFoundLimitBesideALowerOneInForce() {
        fixture.adapt();

        fixture.limit.limitByOperator(3);

        assertThat(value(BackendMeter.PERMITS_LIMIT)).isEqualTo(3);
        assertThat(value(BackendMeter.LIMIT)).isEqualTo(8);
    }

    @Test
    void keepsTheCountOfChangesWhenTheLimitIsFixed() {
        fixture.adapt();
        fixture.serveSaturated(200, 50 * MS);
        double changes = value(BackendMeter.LIMIT_CHANGES);

        fixture.limit.configure(LimitSettings.fixed(20, 3));

        assertThat(value(BackendMeter.LIMIT)).isEqualTo(20);
        assertThat(value(BackendMeter.LIMIT_MAX)).isEqualTo(20);
        assertThat(value(BackendMeter.LIMIT_BASE_LATENCY)).isZero();
        assertThat(value(BackendMeter.LIMIT_CHANGES)).isEqualTo(changes);
    }

    @Test
    void givesTheEngineTheUncongestedTime() {
        assertThat(fixture.serviceTime.uncongestedNanos()).isZero();

        serve(3_000, 0, 20 * MS);

        assertThat(fixture.serviceTime.uncongestedNanos()).isCloseTo(20 * MS, within(MS));
    }

    @Test
    void doesNotLearnWhileTheBreakerIsOpen() {
        fixture.health.resilience4j().transitionToOpenState();

        serve(3_000, 0, MS);

        assertThat(fixture.serviceTime.uncongestedNanos()).isZero();
    }

    @Test
    void doesNotLearnAboveTheTrustedFailureRate() {
        for (int i = 0; i < 100; i++) {
            fixture.health.resilience4j().acquirePermission();
            if (i % 5 == 0) {
                fixture.health.resilience4j().onError(1, TimeUnit.MILLISECONDS, new IllegalStateException());
            } else {
                fixture.health.resilience4j().onSuccess(1, TimeUnit.MILLISECONDS);
            }
        }

        serve(3_000, 0, MS);

        assertThat(fixture.serviceTime.uncongestedNanos()).isZero();
    }

    @Test
    void removesSeriesAndBeanOnClose() {
        meters.shed(Reason.CIRCUIT_OPEN, Priority.NORMAL);
        meters.close();
        meters.shed(Reason.BULKHEAD_FULL, Priority.NORMAL);
        meters.dispatched(Priority.NORMAL, 1, 1);
        meters.served(1);

        assertThat(registry.getMeters()).isEmpty();
        assertThat(server().isRegistered(LittlesLawBean.nameOf("orders"))).isFalse();
    }

    @Test
    void allocatesNothingPerExchange() {
        assertThat(Allocation.bytesPer(() -> {
                    // The clock does not advance, as within one of the ten slices of a window.
                    meters.dispatched(Priority.NORMAL, MS, 700 * MS);
                    fixture.serviceTime.recordWait(MS);
                    meters.served(20 * MS);
                    fixture.serviceTime.recordServed(20 * MS);
                    meters.retried(true);
                    meters.shed(Reason.CIRCUIT_OPEN, Priority.NORMAL);
                    fixture.serviceTime.uncongestedNanos();
                }))
                .isZero();
    }

    private void serve(int calls, long waitNanos, long serviceNanos) {
        for (int i = 0; i < calls; i++) {
            fixture.clock.addAndGet(10 * MS);
            meters.dispatched(Priority.NORMAL, waitNanos, 100 * MS);
            fixture.serviceTime.recordWait(waitNanos);
            meters.served(serviceNanos);
            fixture.serviceTime.recordServed(serviceNanos);
        }
    }

    private void assertState(String expected, boolean forced) {
        for (String state : BackendMeters.BREAKER_STATES) {
            assertThat(value(BackendMeter.BREAKER_STATE, "state", state))
                    .as(state)
                    .isEqualTo(state.equals(expected) ? 1 : 0);
        }
        assertThat(value(BackendMeter.BREAKER_FORCED)).isEqualTo(forced ? 1 : 0);
    }

    private double value(Meters meter, String... tags) {
        return ObservedGateway.value(registry, meter, tags);
    }

    private double millis(Meters timer) {
        return registry.get(timer.definition().meterName()).timer().totalTime(TimeUnit.MILLISECONDS);
    }

    private static double attribute(String name) throws JMException {
        return ((Number) server().getAttribute(LittlesLawBean.nameOf("orders"), name)).doubleValue();
    }

    private static MBeanServer server() {
        return ManagementFactory.getPlatformMBeanServer();
    }
}
