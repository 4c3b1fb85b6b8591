package io.weir.ratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class BucketsTest {

    private static final int MAX_KEYS = 10_000;

    private final AtomicLong clock = new AtomicLong(-1_000_000_007L);

    private Buckets buckets(long permits, Duration period, long burst) {
        return new Buckets(permits, period, burst, MAX_KEYS, clock::get);
    }

    private void advance(Duration time) {
        clock.addAndGet(time.toNanos());
    }

    private static int taken(Buckets buckets, String key, int requests) {
        int taken = 0;
        for (int i = 0; i < requests; i++) {
            if (buckets.of(key).tryConsume(1)) {
                taken++;
            }
        }
        return taken;
    }

    @Test
    void allowsABurstAndThenTheRate() {
        Buckets buckets = buckets(60, Duration.ofMinutes(1), 10);
        assertThat(taken(buckets, "a", 12)).isEqualTo(10);

        int later = 0;
        for (int second = 0; second < 600; second++) {
            advance(Duration.ofSeconds(1));
            later += taken(buckets, "a", 3);
        }

        assertThat(later).isEqualTo(600);
    }

    @Test
    void allowsNoMoreThanTheBurstAfterAPause() {
        Buckets buckets = buckets(60, Duration.ofMinutes(1), 10);
        taken(buckets, "a", 10);

        advance(Duration.ofDays(1));

        assertThat(taken(buckets, "a", 100)).isEqualTo(10);
    }

    @Test
    void neverRefusesOneCallAMinute() {
        Buckets buckets = buckets(1, Duration.ofMinutes(1), 1);
        for (int minute = 0; minute < 10_000; minute++) {
            assertThat(buckets.of("a").tryConsume(1)).as("minute %d", minute).isTrue();
            advance(Duration.ofMinutes(1));
        }
    }

    @Test
    void countsEachKeyByItself() {
        Buckets buckets = buckets(5, Duration.ofSeconds(1), 5);
        assertThat(taken(buckets, "a", 9)).isEqualTo(5);
        assertThat(taken(buckets, "b", 9)).isEqualTo(5);
        assertThat(buckets.keys()).isEqualTo(2);
    }

    @Test
    void remembersAKeyThatIsUsedAgainBeforeItsBucketIsFull() {
        Buckets buckets = buckets(1, Duration.ofSeconds(1), 10);
        taken(buckets, "a", 10);

        // 9 s: just before a bucket is full, three times in a row.
        for (int i = 0; i < 3; i++) {
            advance(Duration.ofSeconds(9));
            assertThat(taken(buckets, "a", 10)).isEqualTo(9);
        }
    }

    @Test
    void forgetsFullBucketsWithoutLosingAnything() {
        Buckets buckets = buckets(1, Duration.ofSeconds(1), 10);
        for (int i = 0; i < 1_000; i++) {
            taken(buckets, "idle" + i, 10);
        }

        advance(Duration.ofSeconds(10));
        taken(buckets, "a", 1);
        assertThat(buckets.keys()).isEqualTo(1_001);
        advance(Duration.ofSeconds(10));
        taken(buckets, "a", 1);

        assertThat(buckets.keys()).isEqualTo(1);
        assertThat(buckets.forgotten()).isZero();
    }

    @Test
    void boundsTheMemoryOfAMillionKeys() {
        Buckets buckets = buckets(1, Duration.ofHours(1), 1);
        long most = 0;
        int refused = 0;
        for (int i = 0; i < 1_000_000; i++) {
            if (taken(buckets, "key" + i, 1) == 0) {
                refused++;
            }
            most = Math.max(most, buckets.keys());
        }
        assertThat(refused).as("newcomers refused").isZero();
        assertThat(most).isGreaterThan(MAX_KEYS / 2).isLessThanOrEqualTo(MAX_KEYS);
        assertThat(buckets.forgotten()).isEqualTo(1_000_000 - buckets.keys());
    }

    @Test
    void remembersABusyKeyAmongAFloodOfNewOnes() {
        Buckets buckets = buckets(10, Duration.ofHours(1), 10);
        int taken = 0;
        for (int i = 0; i < 200_000; i++) {
            taken(buckets, "key" + i, 1);
            if (i % 1_000 == 0) {
                taken += taken(buckets, "busy", 1);
            }
        }
        assertThat(taken).isEqualTo(10);
    }

    @Test
    void countsAKeyInBothGenerationsOnce() {
        Buckets buckets = buckets(1, Duration.ofSeconds(1), 10);
        taken(buckets, "a", 1);
        taken(buckets, "b", 1);
        advance(Duration.ofSeconds(10));
        taken(buckets, "a", 1);
        assertThat(buckets.keys()).isEqualTo(2);
    }

    @Test
    void grantsABurstToManyThreadsOnce() throws InterruptedException {
        Buckets buckets = buckets(1, Duration.ofHours(1), 500);
        AtomicInteger taken = new AtomicInteger();
        CountDownLatch start = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    start.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                taken.addAndGet(taken(buckets, "a", 1_000));
            }));
        }
        start.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(taken).hasValue(500);
        assertThat(buckets.keys()).isEqualTo(1);
    }

    @Test
    void bearsTheExtremesOfTheConfiguration() {
        Buckets slow = buckets(1, Duration.ofDays(1), 1_000_000);
        assertThat(taken(slow, "a", 1_000_001)).isEqualTo(1_000_000);
        advance(Duration.ofDays(3));
        assertThat(taken(slow, "a", 10)).isEqualTo(3);

        Buckets fast = buckets(1_000_000, Duration.ofSeconds(1), 1);
        assertThat(taken(fast, "a", 2)).isEqualTo(1);
        advance(Duration.ofNanos(1_000));
        assertThat(taken(fast, "a", 2)).isEqualTo(1);
    }
}
