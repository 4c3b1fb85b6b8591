package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.outcome.Reason;
import io.weir.ratelimit.Quota;
import io.weir.ratelimit.SharedBuckets;
import io.weir.testing.Leaks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** An exchange whose rate limit all gateways share. */
@ExtendWith(Leaks.class)
class AwaitedQuotaTest {

    private static final Duration TIMEOUT = Duration.ofMillis(20);
    private static final SharedBuckets.Taken ALLOWED = new SharedBuckets.Taken(true, 7, 1_500_000_000);
    private static final SharedBuckets.Taken REFUSED = new SharedBuckets.Taken(false, 0, 30_000_000_000L);

    /** Answers when the test says so. */
    private static final class Counter implements SharedBuckets {

        private final List<CompletableFuture<Taken>> asked = new ArrayList<>();
        private final List<String> keys = new ArrayList<>();
        private boolean available = true;
        private int timeouts;
        private int local;

        @Override
        public boolean isAvailable() {
            return available;
        }

        @Override
        public long timeoutNanos() {
            return TIMEOUT.toNanos();
        }

        @Override
        public CompletionStage<Taken> take(String key, Rate rate) {
            keys.add(key + " " + rate.microsPerPermit() + " " + rate.burst());
            CompletableFuture<Taken> taken = new CompletableFuture<>();
            asked.add(taken);
            return taken;
        }

        @Override
        public void timedOut(String key) {
            assertThat(keys.getLast()).startsWith(key + " ");
            timeouts++;
        }

        @Override
        public void decidedLocally() {
            local++;
        }
    }

    private final Counter counter = new Counter();
    private final ExchangeFixture fixture = new ExchangeFixture().withRateLimit(2, true, counter);

    /** The tasks of the event loop run. */
    private void turn() {
        fixture.advance(Duration.ZERO);
    }

    private void answer(SharedBuckets.Taken taken) {
        counter.asked.getLast().complete(taken);
        turn();
    }

    private Quotas quota() {
        Quota quota = Objects.requireNonNull(fixture.record().quota());
        return new Quotas(quota.isAllowed(), quota.remaining(), quota.nanosToNextPermit());
    }

    private record Quotas(boolean isAllowed, long remaining, long nanos) {}

    @Test
    void sendsTheRequestWhenTheCounterHasAllowedIt() {
        fixture.start();
        turn();
        assertThat(fixture.attempts).isEmpty();
        assertThat(counter.keys).containsExactly("orders:2/60000ms/2: 3.0E7 2");

        answer(ALLOWED);

        assertThat(fixture.attempts).hasSize(1);
        assertThat(quota()).isEqualTo(new Quotas(true, 7, 1_500_000_000));
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(counter.local).isZero();
    }

    @Test
    void refusesWhenTheCounterHasRefused() {
        fixture.withUpload().start();
        answer(REFUSED);

        assertThat(fixture.outcome()).isEqualTo("rate-limited 429");
        assertThat(fixture.attempts).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void countsByItselfAtOnceIfTheCounterFails() {
        fixture.start();
        counter.asked.getLast().completeExceptionally(new IllegalStateException("not connected"));
        turn();

        assertThat(fixture.attempts).hasSize(1);
        assertThat(quota().remaining()).isEqualTo(1);
        assertThat(counter.local).isEqualTo(1);
        assertThat(counter.timeouts)
                .as("the counter has counted the failure itself")
                .isZero();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void countsByItselfAfterTheTimeoutAndIgnoresALateAnswer() {
        fixture.start();
        fixture.advance(TIMEOUT.minusMillis(1));
        assertThat(fixture.attempts).isEmpty();
        fixture.advance(Duration.ofMillis(1));

        assertThat(fixture.attempts).hasSize(1);
        assertThat(counter.timeouts).isEqualTo(1);
        answer(REFUSED);
        assertThat(quota()).extracting(Quotas::isAllowed).isEqualTo(true);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void refusesByItsOwnCountAfterTheTimeout() {
        fixture.useUpQuota().start();
        fixture.advance(TIMEOUT);

        assertThat(fixture.outcome()).isEqualTo("rate-limited 429");
        fixture.assertEndedCleanly();
    }

    @Test
    void doesNotWaitForACounterThatIsNotAvailable() {
        counter.available = false;
        fixture.start();

        assertThat(fixture.attempts).hasSize(1);
        assertThat(counter.asked).isEmpty();
        assertThat(counter.local).isEqualTo(1);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void endsWhenTheCallerLeavesWhileItWaits() {
        fixture.withUpload().start();
        fixture.exchange().callerLeft();
        turn();
        assertThat(fixture.outcome()).isEqualTo("client-closed 499");

        answer(ALLOWED);

        assertThat(fixture.attempts).isEmpty();
        assertThat(counter.timeouts).isZero();
        fixture.assertEndedCleanly();
    }

    @Test
    void endsWhenTheGatewayStopsWhileItWaits() {
        fixture.start();
        fixture.exchange().shutDown();
        turn();
        answer(ALLOWED);

        assertThat(fixture.outcome()).isEqualTo("shutting-down 503");
        assertThat(fixture.attempts).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void sendsTheRequestIfAnExceededQuotaIsNotEnforced() {
        ExchangeFixture unenforced = new ExchangeFixture().withRateLimit(2, false, counter);
        unenforced.start();
        counter.asked.getLast().complete(REFUSED);
        unenforced.advance(Duration.ZERO);

        assertThat(unenforced.attempts).hasSize(1);
        assertThat(unenforced.observer.wouldRefuse).containsExactly(Reason.RATE_LIMITED);
        unenforced.finish();
        unenforced.assertEndedCleanly();
    }
}
