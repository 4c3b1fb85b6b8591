package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Allocation;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LineQueueTest {

    @Test
    void returnsLinesInTheirOrder() {
        LineQueue queue = new LineQueue(3);

        assertThat(queue.offer(line(0, 1))).isTrue();
        assertThat(queue.size()).isEqualTo(1);
        assertThat(queue.offer(line(0, 2))).isTrue();
        assertThat(queue.size()).isEqualTo(2);

        assertThat(queue.poll()).isEqualTo(line(0, 1));
        assertThat(queue.poll()).isEqualTo(line(0, 2));
        assertThat(queue.poll()).isNull();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 16, 17})
    void holdsExactlyItsCapacity(int capacity) {
        LineQueue queue = new LineQueue(capacity);
        for (int i = 1; i <= capacity; i++) {
            assertThat(queue.offer(line(0, i))).isTrue();
            assertThat(queue.size()).isEqualTo(i);
        }

        assertThat(queue.offer(line(0, 0))).isFalse();
        assertThat(queue.size()).isEqualTo(capacity);

        queue.poll();
        assertThat(queue.offer(line(0, 0))).isTrue();
        assertThat(queue.size()).isEqualTo(capacity);
    }

    @Test
    void behavesLikeASequentialQueueUnderRandomOperations() {
        long seed = 7;
        RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
        LineQueue queue = new LineQueue(5);
        Queue<byte[]> model = new ArrayDeque<>();
        for (int step = 0; step < 100_000; step++) {
            if (random.nextBoolean()) {
                byte[] line = line(0, step);
                boolean expected = model.size() < 5;
                if (expected) {
                    model.add(line);
                }
                assertThat(queue.offer(line)).as("seed %d, step %d", seed, step).isEqualTo(expected);
            } else {
                assertThat(queue.poll()).as("seed %d, step %d", seed, step).isSameAs(model.poll());
            }
            assertThat(queue.size()).isEqualTo(model.size());
        }
    }

    @Test
    void keepsEachProducersLinesAndTheirOrderUnderContention() throws InterruptedException {
        int producers = 4;
        int lines = 20_000;
        LineQueue queue = new LineQueue(64);
        CountDownLatch done = new CountDownLatch(producers);
        for (int p = 0; p < producers; p++) {
            int producer = p;
            Thread.ofPlatform().daemon().start(() -> {
                for (int i = 0; i < lines; i++) {
                    while (!queue.offer(line(producer, i))) {
                        LockSupport.parkNanos(1_000);
                    }
                }
                done.countDown();
            });
        }

        List<Integer> next = new ArrayList<>(List.of(0, 0, 0, 0));
        for (int taken = 0; taken < producers * lines; ) {
            byte[] line = queue.poll();
            if (line != null) {
                taken++;
                ByteBuffer read = ByteBuffer.wrap(line);
                int producer = read.getInt();
                assertThat(read.getInt()).isEqualTo(next.get(producer));
                next.set(producer, next.get(producer) + 1);
            }
            assertThat(queue.size()).isBetween(0, 64);
            assertThat(Thread.currentThread().isInterrupted()).as("timed out").isFalse();
        }

        done.await();
        assertThat(queue.poll()).isNull();
        assertThat(next).containsOnly(lines);
    }

    @Test
    void allocatesNothingPerLine() {
        LineQueue queue = new LineQueue(1_000);
        byte[] line = line(0, 1);

        assertThat(Allocation.bytesPer(() -> {
                    queue.offer(line);
                    queue.poll();
                }))
                .isZero();
    }

    private static byte[] line(int producer, int number) {
        return ByteBuffer.allocate(8).putInt(producer).putInt(number).array();
    }
}
