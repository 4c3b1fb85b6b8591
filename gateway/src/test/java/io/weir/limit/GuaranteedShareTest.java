package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GuaranteedShareTest {

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "50, 1, 1", "50, 10, 5", "33, 10, 3", "100, 7, 7", "1, 1000000, 10000"})
    void isAPartOfTheLimitAndAtLeastOnePermit(int percent, int limit, int places) {
        assertThat(GuaranteedShare.of(percent, null).places(limit)).isEqualTo(places);
    }

    @Test
    void takesCallsUpToItsPartOfTheLimitInForce() {
        GuaranteedShare share = GuaranteedShare.of(50, null);
        assertThat(share.tryEnter(4)).isTrue();
        // A call that found a free permit.
        share.enter();

        assertThat(share.tryEnter(4)).isFalse();
        assertThat(share.tryEnter(6)).isTrue();
        share.leave();
        share.leave();
        assertThat(share.tryEnter(4)).isTrue();
    }

    @Test
    void countsTheCallsOfItsPredecessor() {
        GuaranteedShare before = GuaranteedShare.of(50, null);
        before.enter();

        GuaranteedShare after = GuaranteedShare.of(10, before);
        assertThat(after.tryEnter(10)).isFalse();
        before.leave();
        assertThat(after.tryEnter(10)).isTrue();
    }

    @Test
    void isNotExceededByCallsAtTheSameTime() throws Exception {
        GuaranteedShare share = GuaranteedShare.of(50, null);
        CountDownLatch start = new CountDownLatch(1);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            var results = IntStream.range(0, 100)
                    .mapToObj(i -> threads.submit(() -> {
                        start.await();
                        return share.tryEnter(20);
                    }))
                    .toList();
            start.countDown();
            int entered = 0;
            for (var result : results) {
                entered += result.get() ? 1 : 0;
            }
            assertThat(entered).isEqualTo(10);
        }
    }
}
