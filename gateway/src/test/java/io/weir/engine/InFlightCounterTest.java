package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class InFlightCounterTest {

    private final InFlightCounter usage = new InFlightCounter();

    @Test
    void isOverWhenEverybodyWhoBeganHasEnded() {
        assertThat(usage.isOver()).isTrue();

        usage.began();
        usage.began();
        usage.ended();
        assertThat(usage.isOver()).isFalse();

        usage.ended();
        assertThat(usage.isOver()).isTrue();
    }

    /** Others come and go all the time; as long as one is in, it is never over. */
    @Test
    void isNeverOverWhileSomebodyIsIn() {
        usage.began();
        CompletableFuture<?>[] others = IntStream.range(0, 4)
                .mapToObj(i -> CompletableFuture.runAsync(() -> {
                    for (int n = 0; n < 200_000; n++) {
                        usage.began();
                        usage.ended();
                    }
                }))
                .toArray(CompletableFuture[]::new);
        CompletableFuture<Void> all = CompletableFuture.allOf(others);
        boolean over = false;
        while (!all.isDone()) {
            over |= usage.isOver();
        }

        assertThat(over).isFalse();
        usage.ended();
        assertThat(usage.isOver()).isTrue();
    }
}
