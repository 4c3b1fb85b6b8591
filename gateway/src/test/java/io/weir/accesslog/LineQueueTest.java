package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;

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
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LineQueueTest {

    @Test
    void givesLinesBackInTheirOrder() {
        LineQueue queue = new LineQueue(3);

        assertThat(queue.offer(line(0, 1))).isEqualTo(1);
        assertThat(queue.offer(line(0, 2))).isEqualTo(2);

        assertThat(queue.poll()).isEqualTo(line(0, 1));
        assertThat(queue.poll()).isEqualTo(line(0, 2));
        assertThat(queue.poll()).isNull();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 16, 17})
    void takesAsManyAsItsCapacityAndNoMore(int capacity) {
        LineQueue queue = new LineQueue(capacity);
        for (int i = 1; i <= capacity; i++) {
            assertThat(queue.offer(line(0, i))).isEqualTo(i);
        }

        assertThat(queue.offer(line(0, 0))).isZero();
        assertThat(queue.size()).isEqualTo(capacity);

        queue.poll();
        assertThat(queue.offer(line(0, 0))).isEqualTo(capacity);
    }

    @Test
    void behavesLikeASequentialQueueWhateverTheOperations() {
        long seed = 7;
        RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
        LineQueue queue = new LineQueue(5);
        Queue<byte[]> model = new ArrayDeque<>();
        for (int step = 0; step < 100_000; step++) {
            if (random.nextBoolean()) {
                byte[] line = line(0, step);
                int expected = model.size() == 5 ? 0 : model.size() + 1;
                if (expected > 0) {
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
    @Timeout(60)
    void losesAndDoublesNothingAndKeepsEveryonesOrderUnderContention() throws InterruptedException {
        int producers = 4;
        int lines = 20_000;
        LineQueue queue = new LineQueue(64);
        CountDownLatch done = new CountDownLatch(producers);
        for (int p = 0; p < producers; p++) {
            int producer = p;
            Thread.ofPlatform().daemon().start(() -> {
                for (int i = 0; i < lines; i++) {
                    while (queue.offer(line(producer, i)) == 0) {
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
            assertThat(Thread.currentThread().isInterrupted()).as("out of time").isFalse();
        }

        done.await();
        assertThat(queue.poll()).isNull();
        assertThat(next).containsOnly(lines);
    }

    private static byte[] line(int producer, int number) {
        return ByteBuffer.allocate(8).putInt(producer).putInt(number).array();
    }
}
