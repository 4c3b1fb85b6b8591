package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class InFlightCounterTest {

    private final InFlightCounter inFlight = new InFlightCounter();

    @Test
    void isZeroAfterEveryUserHasEnded() {
        assertThat(inFlight.isZero()).isTrue();

        inFlight.begin();
        inFlight.begin();
        inFlight.end();
        assertThat(inFlight.isZero()).isFalse();

        inFlight.end();
        assertThat(inFlight.isZero()).isTrue();
    }

    /** Other users begin and end all the time; one user stays. */
    @Test
    void isNeverZeroWhileAUserIsActive() {
        inFlight.begin();
        CompletableFuture<?>[] others = IntStream.range(0, 4)
                .mapToObj(i -> CompletableFuture.runAsync(() -> {
                    for (int n = 0; n < 200_000; n++) {
                        inFlight.begin();
                        inFlight.end();
                    }
                }))
                .toArray(CompletableFuture[]::new);
        CompletableFuture<Void> all = CompletableFuture.allOf(others);
        boolean wasZero = false;
        while (!all.isDone()) {
            wasZero |= inFlight.isZero();
        }

        assertThat(wasZero).isFalse();
        inFlight.end();
        assertThat(inFlight.isZero()).isTrue();
    }
}
