package io.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.engine.ExchangeOutcomes;
import io.weir.limit.LogBuckets;
import io.weir.outcome.Reason;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class TallyTest {

    private static final int OK = ExchangeOutcomes.index(200);
    private static final int SHED = ExchangeOutcomes.index(Reason.BULKHEAD_FULL);
    private static final int FAILED = ExchangeOutcomes.index(Reason.DEADLINE_EXCEEDED);

    private final Tally tally = new Tally();
    private final long[] outcomes = new long[ExchangeOutcomes.words().size()];
    private final long[] times = new long[LogBuckets.COUNT];

    @Test
    void countsEachExchangeInItsOutcomeAndItsTime() {
        tally.count(OK, 1_000_000);
        tally.count(OK, 1_000_000);
        tally.count(FAILED, 9_000_000);

        read();
        assertThat(outcomes[OK]).isEqualTo(2);
        assertThat(outcomes[FAILED]).isEqualTo(1);
        assertThat(Arrays.stream(outcomes).sum()).isEqualTo(3);
        assertThat(times[LogBuckets.index(1_000_000)]).isEqualTo(2);
        assertThat(times[LogBuckets.index(9_000_000)]).isEqualTo(1);
        assertThat(Arrays.stream(times).sum()).isEqualTo(3);
    }

    @Test
    void countsNoTimeOfWhatWasShed() {
        tally.count(SHED, 1_000);

        read();
        assertThat(outcomes[SHED]).isEqualTo(1);
        assertThat(times).containsOnly(0);
    }

    @Test
    void keepsTheLastOutcomeApartFromTheFirstTime() {
        int last = ExchangeOutcomes.words().size() - 1;
        tally.count(last, 0);

        read();
        assertThat(outcomes[last]).isEqualTo(1);
        assertThat(Arrays.stream(outcomes).sum()).isEqualTo(1);
        assertThat(times[0]).isEqualTo(1);
        assertThat(Arrays.stream(times).sum()).isEqualTo(1);
    }

    @Test
    void losesNothingOfWhatThreadsCountAtOnce() throws InterruptedException {
        int each = 10_000;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                for (int n = 0; n < each; n++) {
                    tally.count(OK, 1_000_000);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }

        read();
        assertThat(outcomes[OK]).isEqualTo(8L * each);
        assertThat(times[LogBuckets.index(1_000_000)]).isEqualTo(8L * each);
    }

    private void read() {
        // What was there is written over.
        Arrays.fill(outcomes, -1);
        Arrays.fill(times, -1);
        tally.outcomes(outcomes);
        tally.times(times);
    }
}
