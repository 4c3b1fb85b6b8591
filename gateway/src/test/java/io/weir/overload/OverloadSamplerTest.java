package io.weir.overload;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.weir.limit.Priority;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class OverloadSamplerTest {

    private static final long MS = 1_000_000;

    private final OverloadGuard guard = new OverloadGuard(
            new OverloadProperties(100, Duration.ofMillis(10), Duration.ofMillis(100), Duration.ofMillis(250), 90));
    private final AtomicLong clock = new AtomicLong();
    private final AtomicLong direct = new AtomicLong();
    private final VirtualLoop healthy = new VirtualLoop(clock);
    private final VirtualLoop busy = new VirtualLoop(clock);
    private final OverloadSampler sampler = new OverloadSampler(
            Map.of(healthy, healthy, busy, busy),
            () -> () -> 0,
            _ -> () -> 0,
            new MemoryShare(List.of(), 1_000, direct::get, 100),
            guard,
            clock::get);

    @AfterEach
    void close() {
        sampler.close();
    }

    @Test
    void refusesOnlyOnTheOverloadedLoop() {
        sampler.startLoops();
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 30; j++) {
                healthy.iterate(10);
            }
            refuses(busy);
            busy.runDueTimers();
        }
        sampler.sample();

        assertThat(refuses(busy)).isTrue();
        assertThat(refuses(healthy)).isFalse();
        assertThat(refuses(Runnable::run)).isFalse();
        assertThat(guard.isOverloaded()).isTrue();
        assertThat(guard.loopDelayNanos()).isEqualTo(300 * MS);

        for (int i = 0; i < 500; i++) {
            busy.iterate(1);
        }
        assertThat(refuses(busy)).isFalse();
        sampler.sample();
        sampler.sample();
        assertThat(guard.isOverloaded()).isFalse();
    }

    @Test
    void servesTheOtherLoopsWhileOneIsStuckAndReportsIt() {
        sampler.startLoops();
        for (int i = 0; i < 49; i++) {
            healthy.idle(100);
            sampler.sample();
            assertThat(sampler.stuckLoops()).isZero();
        }
        healthy.idle(100);
        sampler.sample();

        assertThat(sampler.stuckLoops()).isEqualTo(1);
        assertThat(guard.isOverloaded()).isFalse();
        assertThat(refuses(healthy)).isFalse();

        busy.iterate(0);
        sampler.sample();
        assertThat(sampler.stuckLoops()).isZero();
    }

    @Test
    void doesNotReportAPauseOfTheProcessAsAStuckLoop() {
        sampler.startLoops();
        healthy.idle(50);
        sampler.sample();

        clock.addAndGet(60_000 * MS);
        sampler.sample();

        assertThat(sampler.stuckLoops()).isZero();
    }

    @Test
    void reportsTheFullerMemory() {
        direct.set(91);
        sampler.sample();

        assertThat(guard.memoryPercent()).isEqualTo(91);
        assertThat(sampler.directPercent()).isEqualTo(91);
        assertThat(sampler.heapPercent()).isZero();
        assertThat(guard.takePlace(new InFlightShare(), Priority.CRITICAL)).isFalse();

        direct.set(90);
        sampler.sample();
        assertThat(guard.takePlace(new InFlightShare(), Priority.CRITICAL)).isTrue();
    }

    @Test
    void detectsAStandingDelayOfAnEventLoopAndItsEnd() {
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
        AtomicBoolean isOver = new AtomicBoolean();
        // In real time: the target is longer than an idle loop is late on a busy machine.
        OverloadGuard guard = new OverloadGuard(new OverloadProperties(
                100, Duration.ofMillis(100), Duration.ofMillis(100), Duration.ofMillis(250), 90));
        try (OverloadSampler running = new OverloadSampler(loops, guard, System::nanoTime)) {
            running.start();
            EventLoop loop = loops.next();
            loop.execute(new Runnable() {
                @Override
                public void run() {
                    LockSupport.parkNanos(300 * MS);
                    if (!isOver.get()) {
                        var _ = loop.schedule(this, 0, TimeUnit.NANOSECONDS);
                    }
                }
            });
            await().until(() -> refuses(guard, loop) && guard.isOverloaded());
            assertThat(guard.loopDelayNanos()).isGreaterThan(250 * MS);
            assertThat(refuses(guard, loops.next())).isFalse();

            isOver.set(true);
            await().until(() -> !refuses(guard, loop) && !guard.isOverloaded());
        } finally {
            isOver.set(true);
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void closeEndsTheThread() throws InterruptedException {
        OverloadSampler running = new OverloadSampler(List.<ScheduledExecutorService>of(), guard, System::nanoTime);
        running.start();
        Thread thread = samplers().getFirst();

        running.close();

        assertThat(thread.join(PATIENCE)).isTrue();
    }

    /** Whether a normal request on this loop is refused. */
    private boolean refuses(Executor loop) {
        return refuses(guard, loop);
    }

    private static boolean refuses(OverloadGuard guard, Executor loop) {
        // Fewer would not be the cause of a delay.
        return IntStream.range(0, 20).filter(_ -> guard.refusesHead(loop, null)).count() > 0;
    }

    private static List<Thread> samplers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("weir-overload"))
                .toList();
    }
}
