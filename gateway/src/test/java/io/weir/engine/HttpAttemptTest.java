package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.local.LocalIoHandler;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.drain.Drain;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadProperties;
import io.weir.retry.RetryPolicy;
import io.weir.retry.RetryProperties;
import io.weir.testing.TestBackend;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class HttpAttemptTest {

    private static final Duration DEADLINE = Duration.ofSeconds(30);

    /**
     * The connection comes on its own event loop just when the time for it has passed on the caller's, which decides that nothing was sent and all may be sent again.
     */
    @Test
    void isNotSentAnyMoreOnceItIsDecidedThatNothingWasSent() throws Exception {
        TestBackend server = TestBackend.healthy();
        EventLoopGroup callers = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
        CountDownLatch late = new CountDownLatch(1);
        List<Attempt> attempts = new CopyOnWriteArrayList<>();
        List<Exchange> ended = new CopyOnWriteArrayList<>();
        try (Wired wired = new Wired(server, DEADLINE, null)) {
            Engine engine = new Engine(
                    System::nanoTime,
                    // Asked for the jitter of the wait before the next attempt: between the decision and what follows
                    // from it.
                    () -> {
                        late.countDown();
                        await().until(() -> attempts.getFirst().connected());
                        return 0.5;
                    },
                    new Drain(),
                    new OverloadGuard(new OverloadProperties(100, Duration.ofMinutes(1), 100)),
                    new Limits(1000, DEADLINE.toNanos(), DEADLINE.toNanos()),
                    (of, permission, now) -> {
                        Attempt attempt = Attempt.overNetwork(of, permission, now);
                        attempts.add(attempt);
                        return attempt;
                    });
            LocalChannel channel = new LocalChannel();
            callers.register(channel).sync();
            FakeCaller caller = new FakeCaller(channel);
            caller.method = HttpMethod.POST;
            Route route = new Route(
                    "orders",
                    wired.backend,
                    DEADLINE.toNanos(),
                    Mode.REQUEST,
                    null,
                    new RetryPolicy(new RetryProperties(2, null, Duration.ofMillis(1), Set.of(503))),
                    null,
                    null,
                    ended::add,
                    new InFlightCounter());
            Exchange exchange = new Exchange(engine, route, caller, System.nanoTime());
            wired.loop().execute(() -> awaitUninterruptibly(late));
            channel.eventLoop().execute(exchange::start);

            await().until(() -> !caller.answered.isEmpty());
            exchange.flushed();
            await().until(() -> !ended.isEmpty());

            assertThat(attempts).hasSize(2);
            assertThat(exchange.status()).isEqualTo(200);
            assertThat(server.requests()).isEqualTo(1);
            assertThat(wired.bulkhead.inUse()).isZero();
        } finally {
            callers.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
            server.close();
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
