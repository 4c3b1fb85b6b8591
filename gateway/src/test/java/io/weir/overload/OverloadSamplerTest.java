package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class OverloadSamplerTest {

    private static final long MS = 1_000_000;

    private final OverloadGuard guard = new OverloadGuard(new OverloadProperties(100, Duration.ofMillis(250), 90));
    private final AtomicLong clock = new AtomicLong();
    private final AtomicLong direct = new AtomicLong();
    private final Queue<Runnable> healthy = new ArrayDeque<>();
    private final Queue<Runnable> stuck = new ArrayDeque<>();
    private final OverloadSampler sampler = new OverloadSampler(
            List.of(healthy::add, stuck::add), new MemoryShare(List.of(), 1_000, direct::get, 100), guard, clock::get);

    @AfterEach
    void close() {
        sampler.close();
    }

    @Test
    void reportsTheSlowestLoop() {
        for (int i = 0; i < 5; i++) {
            sampler.sample();
            clock.addAndGet(100 * MS);
            run(healthy);
        }

        // Submitted at 0, not executed at 400; the lower of the last two samples counts.
        assertThat(guard.loopDelayNanos()).isEqualTo(300 * MS);
        assertThat(guard.isOverloaded(1)).isTrue();

        run(stuck);
        for (int i = 0; i < 3; i++) {
            sampler.sample();
            run(healthy);
            run(stuck);
        }
        assertThat(guard.loopDelayNanos()).isZero();
        assertThat(guard.isOverloaded(1)).isFalse();
    }

    @Test
    void reportsTheFullerMemory() {
        direct.set(91);
        sampler.sample();

        assertThat(guard.memoryPercent()).isEqualTo(91);
        assertThat(sampler.directPercent()).isEqualTo(91);
        assertThat(sampler.heapPercent()).isZero();
        assertThat(guard.isOverloaded(1)).isTrue();

        direct.set(90);
        sampler.sample();
        assertThat(guard.isOverloaded(1)).isFalse();
    }

    @Test
    void detectsAStuckEventLoopAndItsRecovery() throws InterruptedException {
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
        CountDownLatch release = new CountDownLatch(1);
        try (OverloadSampler running = new OverloadSampler(loops, guard, System::nanoTime)) {
            running.start();
            loops.next().execute(() -> {
                try {
                    release.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            await().until(() -> guard.isOverloaded(1));
            assertThat(guard.loopDelayNanos()).isGreaterThan(250 * MS);

            release.countDown();
            await().until(() -> !guard.isOverloaded(1));
        } finally {
            release.countDown();
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void closeEndsTheThread() throws InterruptedException {
        OverloadSampler running = new OverloadSampler(List.of(), guard, System::nanoTime);
        running.start();
        Thread thread = samplers().getFirst();

        running.close();

        thread.join(10_000);
        assertThat(thread.isAlive()).isFalse();
    }

    private static List<Thread> samplers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("weir-overload"))
                .toList();
    }

    private static void run(Queue<Runnable> tasks) {
        Runnable task = tasks.poll();
        if (task != null) {
            task.run();
        }
    }
}
