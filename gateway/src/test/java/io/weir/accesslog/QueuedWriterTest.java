package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.weir.testing.Patience;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class QueuedWriterTest {

    private static final int CAPACITY = 16;

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

    private final Logger log = (Logger) LoggerFactory.getLogger(QueuedWriter.class);
    private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
    private final StuckTarget target = new StuckTarget();

    @BeforeEach
    void watchTheLog() {
        logged.start();
        log.addAppender(logged);
    }

    @AfterEach
    void release() {
        target.released.countDown();
        log.detachAppender(logged);
    }

    @Test
    void writesABurstCompletelyAndEachThreadsElementsInTheirOrder() throws InterruptedException {
        int threads = 4;
        int each = 500;
        QueuedWriter<Integer> writer = new QueuedWriter<>("Log X", threads * each, target::accept);
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
        QueuedWriter<Integer> writer = new QueuedWriter<>("Log X", CAPACITY, written::add);
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
        assertThat(logged.list).isEmpty();
        target.released.countDown();
        await().until(() -> !logged.list.isEmpty());
        assertThat(target.written).hasSize(1 + CAPACITY).endsWith(CAPACITY);

        writer.offer(99, CAPACITY);
        await().until(() -> target.written.contains(99));
        assertThat(writer.close()).isTrue();
        assertThat(logged.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly("Log X: 4 lines dropped, 4 since the start");
    }

    @Test
    void continuesAfterAnErrorOfItsTargetAndCountsIt() {
        Queue<Integer> written = new ConcurrentLinkedQueue<>();
        QueuedWriter<Integer> writer = new QueuedWriter<>("Log X", CAPACITY, number -> {
            if (number == 1) {
                throw new OutOfMemoryError("of a test");
            }
            written.add(number);
        });
        writer.offer(1, CAPACITY);
        writer.offer(2, CAPACITY);

        assertThat(writer.close()).isTrue();
        assertThat(written).containsExactly(2);
        assertThat(writer.dropped()).isEqualTo(1);
    }

    @Test
    void closesAlthoughItsTargetIsStuckAndSaysSo() throws InterruptedException {
        QueuedWriter<Integer> writer = stuck();

        assertThat(writer.close()).isFalse();
        writer.offer(2, CAPACITY);
        assertThat(writer.dropped()).isEqualTo(1);
    }

    /** A writer whose thread is in its target with the element 0. */
    private QueuedWriter<Integer> stuck() throws InterruptedException {
        QueuedWriter<Integer> writer = new QueuedWriter<>("Log X", CAPACITY, target::accept);
        writer.offer(0, CAPACITY);
        assertThat(target.entered.await(Patience.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        return writer;
    }
}
