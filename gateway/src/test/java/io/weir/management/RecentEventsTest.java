package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.weir.management.RecentEvents.Happening;
import io.weir.management.RecentEvents.Kind;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class RecentEventsTest {

    private final CircuitBreakerRegistry breakers = CircuitBreakerRegistry.ofDefaults();
    private final RecentEvents happenings = new RecentEvents(() -> Instant.EPOCH);

    @Test
    void remembersTheLatestFirstAndForgetsTheOldest() {
        for (int i = 1; i <= RecentEvents.CAPACITY + 1; i++) {
            happenings.add(Kind.LIMIT_CHANGED, "orders", "change " + i, "127.0.0.1:4711");
        }

        assertThat(happenings.last()).hasSize(RecentEvents.CAPACITY);
        assertThat(happenings.last().getFirst())
                .isEqualTo(new Happening(
                        RecentEvents.CAPACITY + 1,
                        Instant.EPOCH,
                        Kind.LIMIT_CHANGED,
                        "orders",
                        "change " + (RecentEvents.CAPACITY + 1),
                        "127.0.0.1:4711"));
        assertThat(happenings.last().getLast().number()).isEqualTo(2);
    }

    @Test
    void tellsWhatBreakersDoByThemselvesThoseOfLaterBackendsToo() {
        CircuitBreaker before = breakers.circuitBreaker("orders");
        happenings.watch(breakers);
        CircuitBreaker later = breakers.circuitBreaker("payments");

        before.transitionToOpenState();
        later.transitionToOpenState();
        later.transitionToHalfOpenState();
        later.transitionToClosedState();

        assertThat(happenings.last())
                .extracting(Happening::backend, Happening::kind)
                .containsExactly(
                        tuple("payments", Kind.BREAKER_CLOSED),
                        tuple("payments", Kind.BREAKER_HALF_OPENED),
                        tuple("payments", Kind.BREAKER_OPENED),
                        tuple("orders", Kind.BREAKER_OPENED));
    }

    @Test
    void leavesWhatIsForcedToWhoForcesIt() {
        happenings.watch(breakers);
        CircuitBreaker breaker = breakers.circuitBreaker("orders");

        breaker.transitionToForcedOpenState();
        breaker.transitionToClosedState();

        assertThat(happenings.last()).isEmpty();
    }

    @Test
    void followsABreakerThatReplacesAnotherAndNotTheOneReplaced() {
        happenings.watch(breakers);
        CircuitBreaker old = breakers.circuitBreaker("orders");
        CircuitBreaker next = CircuitBreaker.ofDefaults("orders");
        breakers.replace("orders", next);

        old.transitionToOpenState();
        assertThat(happenings.last()).isEmpty();
        next.transitionToOpenState();
        assertThat(happenings.last()).hasSize(1);
    }
}
