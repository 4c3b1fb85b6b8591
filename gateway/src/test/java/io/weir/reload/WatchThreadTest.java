package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class WatchThreadTest {

    private final AtomicReference<WatchThread> own = new AtomicReference<>();

    private WatchThread start(WatchThread.Watch watch) {
        WatchThread thread = new WatchThread("watch", watch);
        own.set(thread);
        thread.start();
        return thread;
    }

    @Test
    void endsARestWhenItIsClosed() {
        CountDownLatch rests = new CountDownLatch(1);
        AtomicBoolean hasRested = new AtomicBoolean(true);
        WatchThread thread = start(() -> {
            rests.countDown();
            hasRested.set(own.get().rest(Duration.ofDays(1)));
        });
        await().until(() -> rests.getCount() == 0);

        assertThat(thread.isClosed()).isFalse();
        thread.close();

        assertThat(thread.isClosed()).isTrue();
        assertThat(hasRested).isFalse();
    }

    @Test
    void completesAComparisonInProgressBeforeItIsClosed() throws InterruptedException {
        CountDownLatch compares = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        AtomicBoolean hasEnded = new AtomicBoolean();
        WatchThread thread = start(() -> {
            compares.countDown();
            mayEnd.await();
            hasEnded.set(true);
        });
        compares.await();
        AtomicBoolean hadEnded = new AtomicBoolean();
        Thread closing = Thread.ofVirtual().start(() -> {
            thread.close();
            hadEnded.set(hasEnded.get());
        });
        await().until(thread::isClosed);
        mayEnd.countDown();
        closing.join();

        assertThat(hadEnded).isTrue();
    }

    @Test
    void isClosedWithoutAStart() {
        WatchThread thread = new WatchThread("watch", () -> {});
        thread.close();

        assertThat(thread.isClosed()).isTrue();
    }
}
