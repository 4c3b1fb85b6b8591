package io.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.engine.ExchangeOutcomes;
import io.weir.limit.LogBuckets;
import io.weir.outcome.Reason;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class ExchangeTotalsTest {

    private static final int OK = ExchangeOutcomes.index(200);
    private static final int SHED = ExchangeOutcomes.index(Reason.BULKHEAD_FULL);
    private static final int FAILED = ExchangeOutcomes.index(Reason.DEADLINE_EXCEEDED);

    private final ExchangeTotals totals = new ExchangeTotals();
    private final long[] outcomes = new long[ExchangeOutcomes.words().size()];
    private final long[] durations = new long[LogBuckets.COUNT];

    @Test
    void countsEachExchangeByOutcomeAndByDuration() {
        totals.count(OK, 1_000_000);
        totals.count(OK, 1_000_000);
        totals.count(FAILED, 9_000_000);

        read();
        assertThat(outcomes[OK]).isEqualTo(2);
        assertThat(outcomes[FAILED]).isEqualTo(1);
        assertThat(Arrays.stream(outcomes).sum()).isEqualTo(3);
        assertThat(durations[LogBuckets.index(1_000_000)]).isEqualTo(2);
        assertThat(durations[LogBuckets.index(9_000_000)]).isEqualTo(1);
        assertThat(Arrays.stream(durations).sum()).isEqualTo(3);
    }

    @Test
    void countsNoDurationOfAShedExchange() {
        totals.count(SHED, 1_000);

        read();
        assertThat(outcomes[SHED]).isEqualTo(1);
        assertThat(durations).containsOnly(0);
    }

    @Test
    void keepsTheLastOutcomeApartFromTheFirstDuration() {
        int last = ExchangeOutcomes.words().size() - 1;
        totals.count(last, 0);

        read();
        assertThat(outcomes[last]).isEqualTo(1);
        assertThat(Arrays.stream(outcomes).sum()).isEqualTo(1);
        assertThat(durations[0]).isEqualTo(1);
        assertThat(Arrays.stream(durations).sum()).isEqualTo(1);
    }

    @Test
    void losesNoCountOfConcurrentThreads() throws InterruptedException {
        int countsPerThread = 10_000;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                for (int n = 0; n < countsPerThread; n++) {
                    totals.count(OK, 1_000_000);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }

        read();
        assertThat(outcomes[OK]).isEqualTo(8L * countsPerThread);
        assertThat(durations[LogBuckets.index(1_000_000)]).isEqualTo(8L * countsPerThread);
    }

    private void read() {
        // Both methods overwrite the arrays.
        Arrays.fill(outcomes, -1);
        Arrays.fill(durations, -1);
        totals.readOutcomes(outcomes);
        totals.readDurations(durations);
    }
}
