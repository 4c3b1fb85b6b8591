package io.weir.ratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class CallsPerKeyTest {

    private static CallsPerKey calls(int most) {
        return CallsPerKey.of(properties("client-address", most), null);
    }

    private static MaxConcurrentPerKeyProperties properties(String key, int most) {
        return new MaxConcurrentPerKeyProperties(key, most, true);
    }

    @Test
    void boundsTheCallsOfEachCallerByItself() {
        CallsPerKey calls = calls(2);

        assertThat(calls.tryEnter("ann")).isTrue();
        assertThat(calls.tryEnter("ann")).isTrue();
        assertThat(calls.tryEnter("ann")).isFalse();
        assertThat(calls.tryEnter("ben")).isTrue();

        calls.leave("ann");
        assertThat(calls.tryEnter("ann")).isTrue();
        assertThat(calls.tryEnter("ann")).isFalse();
        assertThat(calls.keys()).isEqualTo(2);
    }

    @Test
    void countsCallsAboveTheLimitThatAreNotRefused() {
        CallsPerKey calls = calls(1);
        calls.enterAnyway("ann");
        calls.enterAnyway("ann");

        calls.leave("ann");
        assertThat(calls.tryEnter("ann")).isFalse();
        calls.leave("ann");
        assertThat(calls.tryEnter("ann")).isTrue();
    }

    /** A caller chooses its key, so a million of them must not take memory. */
    @Test
    void knowsAKeyOnlyWhileItHasCalls() {
        CallsPerKey calls = calls(10);
        ArrayDeque<String> underWay = new ArrayDeque<>();
        for (int i = 0; i < 1_000_000; i++) {
            String key = "key-" + i;
            assertThat(calls.tryEnter(key)).isTrue();
            underWay.add(key);
            if (underWay.size() == 100) {
                calls.leave(underWay.remove());
            }
            if (i % 100_000 == 0) {
                assertThat(calls.keys()).isEqualTo(underWay.size()).isLessThan(100);
            }
        }
        underWay.forEach(calls::leave);
        assertThat(calls.keys()).isZero();
    }

    @Test
    void refusesWithoutAnEntryOfItsOwn() {
        CallsPerKey calls = calls(1);
        calls.tryEnter("ann");
        for (int i = 0; i < 100; i++) {
            assertThat(calls.tryEnter("ann")).isFalse();
        }

        calls.leave("ann");

        assertThat(calls.keys()).isZero();
    }

    @Test
    void isExactHoweverManyThreadsEnterAndLeave() throws InterruptedException {
        CallsPerKey calls = calls(3);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        AtomicInteger entered = new AtomicInteger();
        CountDownLatch begin = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                awaitQuietly(begin);
                for (int call = 0; call < 20_000; call++) {
                    if (calls.tryEnter("ann")) {
                        entered.incrementAndGet();
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                        inside.decrementAndGet();
                        calls.leave("ann");
                    }
                }
            }));
        }
        begin.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(most.get()).isLessThanOrEqualTo(3);
        assertThat(entered.get()).isPositive();
        assertThat(calls.keys()).isZero();
    }

    private static void awaitQuietly(CountDownLatch begin) {
        try {
            begin.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    // ---------------------------------------------------------------- another configuration

    @Test
    void countsOnWithAnotherLimit() {
        CallsPerKey before = calls(3);
        before.tryEnter("ann");
        before.tryEnter("ann");
        before.countRefusal();

        CallsPerKey after = CallsPerKey.of(properties("client-address", 1), before);

        assertThat(after.tryEnter("ann")).as("two are under way").isFalse();
        assertThat(after.refused()).isEqualTo(1);
        before.leave("ann");
        before.leave("ann");
        assertThat(after.keys()).isZero();
        assertThat(after.tryEnter("ann")).isTrue();
    }

    @Test
    void startsAgainWithAnotherKey() {
        CallsPerKey before = calls(1);
        before.tryEnter("ann");

        CallsPerKey after = CallsPerKey.of(properties("route", 1), before);

        assertThat(after.tryEnter("ann")).isTrue();
        before.leave("ann");
        assertThat(after.tryEnter("ann")).isFalse();
    }
}
