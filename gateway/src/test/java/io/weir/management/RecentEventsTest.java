package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.weir.instance.Instance;
import io.weir.management.RecentEvents.Event;
import io.weir.management.RecentEvents.Kind;
import io.weir.testing.ObservedGateway;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class RecentEventsTest {

    private final CircuitBreakerRegistry breakers = CircuitBreakerRegistry.ofDefaults();
    private final RecentEvents recentEvents = new RecentEvents(() -> Instant.EPOCH);

    @Test
    void keepsTheLatestFirstAndDropsTheOldest() {
        for (int i = 1; i <= RecentEvents.CAPACITY + 1; i++) {
            recentEvents.add(Kind.LIMIT_CHANGED, "orders", "change " + i, "127.0.0.1:4711");
        }

        assertThat(recentEvents.last()).hasSize(RecentEvents.CAPACITY);
        assertThat(recentEvents.last().getFirst())
                .isEqualTo(new Event(
                        RecentEvents.CAPACITY + 1,
                        Instant.EPOCH,
                        Kind.LIMIT_CHANGED,
                        "orders",
                        "change " + (RecentEvents.CAPACITY + 1),
                        "127.0.0.1:4711"));
        assertThat(recentEvents.last().getLast().number()).isEqualTo(2);
    }

    @Test
    void addsTransitionsOfPresentAndFutureBreakers() {
        CircuitBreaker before = breakers.circuitBreaker("orders");
        recentEvents.watch(breakers);
        CircuitBreaker later = breakers.circuitBreaker("payments");

        before.transitionToOpenState();
        later.transitionToOpenState();
        later.transitionToHalfOpenState();
        later.transitionToClosedState();

        assertThat(recentEvents.last())
                .extracting(Event::backend, Event::kind)
                .containsExactly(
                        tuple("payments", Kind.BREAKER_CLOSED),
                        tuple("payments", Kind.BREAKER_HALF_OPENED),
                        tuple("payments", Kind.BREAKER_OPENED),
                        tuple("orders", Kind.BREAKER_OPENED));
    }

    @Test
    void skipsForcedTransitions() {
        recentEvents.watch(breakers);
        CircuitBreaker breaker = breakers.circuitBreaker("orders");

        breaker.transitionToForcedOpenState();
        breaker.transitionToClosedState();

        assertThat(recentEvents.last()).isEmpty();
    }

    @Test
    void addsTheEjectionOfAnInstanceOnceAndItsReturn() {
        try (ObservedGateway fixture = new ObservedGateway()) {
            fixture.health.resilience4j().register(breakers);
            List<Instance> instances = fixture.instances(List.of("a:1", "b:2")).all();
            recentEvents.watch(breakers);
            instances.forEach(instance -> recentEvents.watch(
                    breakers, fixture.health.resilience4j(), instance.shownAddress(), instance.health()));
            CircuitBreaker ejected = instances.getFirst().health().resilience4j();

            ejected.transitionToOpenState();
            // A relapse has no event.
            ejected.transitionToHalfOpenState();
            ejected.transitionToOpenState();
            ejected.transitionToHalfOpenState();
            fixture.clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
            assertThat(ejected.getState()).isEqualTo(CircuitBreaker.State.CLOSED);

            assertThat(recentEvents.last())
                    .extracting(Event::backend, Event::kind, Event::text)
                    .containsExactly(
                            tuple(
                                    "orders",
                                    Kind.INSTANCE_RETURNED,
                                    "Instance http://a:1 takes its share of the calls again"),
                            tuple(
                                    "orders",
                                    Kind.INSTANCE_EJECTED,
                                    "Instance http://a:1 was ejected: opened through Resilience4j"));
            assertThat(instances.getFirst().health().ejections()).isEqualTo(2);
        }
    }

    @Test
    void addsOneEventWhereAllInstancesOpenAtOnce() {
        try (ObservedGateway fixture = new ObservedGateway()) {
            fixture.health.resilience4j().register(breakers);
            List<Instance> instances = fixture.instances(List.of("a:1", "b:2")).all();
            recentEvents.watch(breakers);
            instances.forEach(instance -> recentEvents.watch(
                    breakers, fixture.health.resilience4j(), instance.shownAddress(), instance.health()));

            fixture.health.resilience4j().transitionToOpenState();

            assertThat(instances).noneMatch(instance -> instance.health().isIn());
            assertThat(instances).allMatch(instance -> instance.health().ejections() == 0);
            assertThat(recentEvents.last()).extracting(Event::kind).containsExactly(Kind.BREAKER_OPENED);

            instances.getFirst().health().operator().drain();
            instances.getFirst().health().operator().restore();
            assertThat(recentEvents.last())
                    .as("the endpoint adds an operator's changes")
                    .extracting(Event::kind)
                    .containsExactly(Kind.BREAKER_CLOSED, Kind.BREAKER_OPENED);
        }
    }

    @Test
    void followsAReplacingBreakerAndIgnoresTheReplacedOne() {
        recentEvents.watch(breakers);
        CircuitBreaker old = breakers.circuitBreaker("orders");
        CircuitBreaker next = CircuitBreaker.ofDefaults("orders");
        breakers.replace("orders", next);

        old.transitionToOpenState();
        assertThat(recentEvents.last()).isEmpty();
        next.transitionToOpenState();
        assertThat(recentEvents.last()).hasSize(1);
    }
}
