package io.weir.ratelimit;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.ratelimit.SharedBuckets.Taken;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

class SharedAvailabilityTest {

    private static final Taken TAKEN = new Taken(true, 1, 0);

    private final List<String> changes = new ArrayList<>();
    private long nanos;
    private final SharedAvailability availability = new SharedAvailability(
            Duration.ofMillis(20), () -> nanos, why -> changes.add("lost: " + why), () -> changes.add("found"));

    private void fail(int times) {
        for (int i = 0; i < times; i++) {
            availability.failed("slow");
        }
    }

    @Test
    void beginsUnavailableWithoutAMessage() {
        assertThat(availability.isAvailable()).isFalse();
        availability.lost("refused");
        fail(10);
        assertThat(changes).isEmpty();
    }

    @Test
    void isLostAfterFiveFailuresInARow() {
        availability.answered();
        fail(4);
        assertThat(availability.isAvailable()).isTrue();
        fail(1);
        assertThat(availability.isAvailable()).isFalse();
        fail(100);
        assertThat(changes).containsExactly("found", "lost: slow");
    }

    @Test
    void staysWhileAnswersComeBetweenFailures() {
        availability.answered();
        for (int i = 0; i < 10; i++) {
            fail(4);
            availability.answered();
        }
        assertThat(availability.isAvailable()).isTrue();
        assertThat(changes).containsExactly("found");
    }

    @Test
    void countsNoLateAnswer() {
        CompletableFuture<Taken> late = new CompletableFuture<>();
        CompletableFuture<Taken> inTime = new CompletableFuture<>();
        CompletionStage<Taken> observedLate = availability.observe(() -> late);
        nanos = MILLISECONDS.toNanos(20) + 1;
        CompletionStage<Taken> observedInTime = availability.observe(() -> inTime);

        late.complete(TAKEN);
        assertThat(observedLate).isCompletedWithValue(TAKEN);
        assertThat(availability.isAvailable()).isFalse();

        nanos += MILLISECONDS.toNanos(20);
        inTime.complete(TAKEN);
        assertThat(observedInTime).isCompletedWithValue(TAKEN);
        assertThat(availability.isAvailable()).isTrue();
    }

    @Test
    void countsFailuresAndTimeoutsWithTheirCauses() {
        availability.answered();
        CompletableFuture<Taken> failed = CompletableFuture.failedFuture(new IllegalStateException("WRONGTYPE"));
        for (int i = 0; i < 5; i++) {
            assertThat(availability.observe(() -> failed)).isCompletedExceptionally();
        }
        availability.answered();
        for (int i = 0; i < 5; i++) {
            availability.timedOut();
        }
        assertThat(changes).containsExactly("found", "lost: WRONGTYPE", "found", "lost: no answer in 20 ms");
    }

    @Test
    void isLostAtOnceWithItsConnectionAndFoundByTheNextAnswer() {
        availability.answered();
        availability.lost("the connection is lost");
        assertThat(availability.isAvailable()).isFalse();
        availability.answered();
        assertThat(availability.isAvailable()).isTrue();
        assertThat(changes).containsExactly("found", "lost: the connection is lost", "found");
    }
}
