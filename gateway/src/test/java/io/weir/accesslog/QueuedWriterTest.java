package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Patience;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class QueuedWriterTest {

    private static final int CAPACITY = 16;
    /** The element for a message. */
    private static final int NOTE = -1;

    /** A target that blocks until it is released. */
    static final class StuckTarget {

        final CountDownLatch entered = new CountDownLatch(1);
        final CountDownLatch released = new CountDownLatch(1);
        final Queue<Integer> written = new ConcurrentLinkedQueue<>();

        void accept(int number) {
            entered.countDown();
            try {
                released.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            written.add(number);
        }
    }

    private final Queue<String> notes = new ConcurrentLinkedQueue<>();
    private final StuckTarget target = new StuckTarget();

    @AfterEach
    void release() {
        target.released.countDown();
    }

    @Test
    void writesABurstCompletelyAndEachThreadsElementsInTheirOrder() throws InterruptedException {
        int threads = 4;
        int each = 500;
        QueuedWriter<Integer> writer = new QueuedWriter<>(threads * each, target::accept, this::note);
        List<Thread> producers = new ArrayList<>();
        for (int producer = 0; producer < threads; producer++) {
            int first = producer * each;
            producers.add(Thread.ofPlatform().start(() -> {
                for (int i = 0; i < each; i++) {
                    writer.offer(first + i, threads * each);
                }
            }));
        }
        for (Thread producer : producers) {
            assertThat(producer.join(Patience.PATIENCE)).isTrue();
        }
        target.released.countDown();

        assertThat(writer.close()).isTrue();
        assertThat(target.written).hasSize(threads * each);
        for (int producer = 0; producer < threads; producer++) {
            int of = producer;
            assertThat(target.written.stream().filter(number -> number / each == of))
                    .isSorted();
        }
        assertThat(writer.dropped()).isZero();
    }

    @Test
    void wakesForEachElementThatArrivesWhileItIsIdle() throws InterruptedException {
        Queue<Integer> written = new ConcurrentLinkedQueue<>();
        QueuedWriter<Integer> writer = new QueuedWriter<>(CAPACITY, written::add, this::note);
        for (int i = 1; i <= 20_000; i++) {
            writer.offer(i, CAPACITY);
            while (written.size() < i) {
                Thread.onSpinWait();
            }
        }
        assertThat(writer.dropped()).isZero();
        assertThat(writer.close()).isTrue();
    }

    @Test
    void countsWhatFindsTheQueueFullAndSaysItOnceWhenTheQueueHasDrained() throws InterruptedException {
        QueuedWriter<Integer> writer = stuck();
        for (int i = 1; i <= 20; i++) {
            writer.offer(i, CAPACITY);
        }

        assertThat(writer.dropped()).isEqualTo(4);
        assertThat(notes).isEmpty();
        target.released.countDown();
        await().until(() -> target.written.contains(NOTE));
        assertThat(target.written).hasSize(1 + CAPACITY + 1).endsWith(CAPACITY, NOTE);

        writer.offer(99, CAPACITY);
        assertThat(writer.close()).isTrue();
        assertThat(target.written).endsWith(NOTE, 99);
        assertThat(notes).containsExactly("4 lines dropped, 4 since the start");
    }

    @Test
    void saysAtAStopWhatWasDropped() throws InterruptedException {
        QueuedWriter<Integer> writer = stuck();
        for (int i = 1; i <= 20; i++) {
            writer.offer(i, CAPACITY);
        }
        Thread release = Thread.ofPlatform().start(target.released::countDown);

        assertThat(writer.close()).isTrue();
        assertThat(target.written).endsWith(CAPACITY, NOTE);
        assertThat(release.join(Patience.PATIENCE)).isTrue();
    }

    @Test
    void continuesAfterAnErrorOfItsTargetAndCountsIt() {
        Queue<Integer> written = new ConcurrentLinkedQueue<>();
        QueuedWriter<Integer> writer = new QueuedWriter<>(
                CAPACITY,
                number -> {
                    if (number == 1) {
                        throw new OutOfMemoryError("of a test");
                    }
                    written.add(number);
                },
                this::note);
        writer.offer(1, CAPACITY);
        writer.offer(2, CAPACITY);

        assertThat(writer.close()).isTrue();
        // The writer may note the loss before or after the next line.
        assertThat(written).containsExactlyInAnyOrder(2, NOTE);
        assertThat(writer.dropped()).isEqualTo(1);
    }

    @Test
    void closesAlthoughItsTargetIsStuckAndSaysSo() throws InterruptedException {
        QueuedWriter<Integer> writer = stuck();

        assertThat(writer.close()).isFalse();
        writer.offer(2, CAPACITY);
        assertThat(writer.dropped()).isEqualTo(1);
    }

    private int note(String message) {
        notes.add(message);
        return NOTE;
    }

    /** A writer whose thread is in its target with the element 0. */
    private QueuedWriter<Integer> stuck() throws InterruptedException {
        QueuedWriter<Integer> writer = new QueuedWriter<>(CAPACITY, target::accept, this::note);
        writer.offer(0, CAPACITY);
        assertThat(target.entered.await(Patience.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        return writer;
    }
}
