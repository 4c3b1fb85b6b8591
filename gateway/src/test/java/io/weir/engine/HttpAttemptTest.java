package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.local.LocalIoHandler;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.drain.Drain;
import io.weir.limit.UsualTime;
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
import reactor.netty.Connection;

@Timeout(60)
class HttpAttemptTest {

    private static final Duration DEADLINE = Duration.ofSeconds(30);
    /** The connect time-out is half of it. */
    private static final Duration ROUTE_DEADLINE = Duration.ofSeconds(4);

    /**
     * The connection is established on its own event loop at the moment at which the connect time-out passes
     * on the caller's. The latter decides that nothing was sent, and retries.
     */
    @Test
    void sendsNothingAfterTheRequestWasWithdrawn() throws Exception {
        TestBackend server = TestBackend.healthy();
        EventLoopGroup callers = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
        CountDownLatch late = new CountDownLatch(1);
        List<Attempt> attempts = new CopyOnWriteArrayList<>();
        List<ExchangeRecord> ended = new CopyOnWriteArrayList<>();
        try (SocketBackend backend = new SocketBackend(server, DEADLINE, null)) {
            Engine engine = new Engine(
                    System::nanoTime,
                    // The jitter of the backoff is read between the withdrawal and the retry.
                    () -> {
                        late.countDown();
                        await().until(() -> attempts.getFirst().isConnected());
                        return 0.5;
                    },
                    new Drain(),
                    new OverloadGuard(new OverloadProperties(100, Duration.ofMinutes(1), 100)),
                    new Limits(1000, DEADLINE.toNanos(), DEADLINE.toNanos(), 1000, 64, 1 << 20, 0),
                    (of, admission, evidence, now) -> {
                        Attempt attempt = Attempt.overNetwork(of, admission, evidence, now);
                        attempts.add(attempt);
                        return attempt;
                    },
                    ProbeRequest.overNetwork(System::nanoTime));
            LocalChannel channel = new LocalChannel();
            callers.register(channel).sync();
            FakeCaller caller = new FakeCaller(channel);
            caller.method = HttpMethod.POST;
            Route route = new Route(
                    "orders",
                    backend.backend,
                    ROUTE_DEADLINE.toNanos(),
                    Mode.REQUEST,
                    null,
                    new RetryPolicy(new RetryProperties(2, null, Duration.ofMillis(1), Set.of(503))),
                    null,
                    null,
                    ended::add,
                    new InFlightCounter(),
                    new UsualTime(),
                    null);
            Exchange exchange = new Exchange(engine, route, caller, System.nanoTime());
            backend.loop().execute(() -> awaitUninterruptibly(late));
            channel.eventLoop().execute(exchange::start);

            await().until(() -> !caller.answered.isEmpty());
            exchange.flushed();
            await().until(() -> !ended.isEmpty());

            assertThat(attempts).hasSize(2);
            assertThat(exchange.record().status()).isEqualTo(200);
            assertThat(server.requests()).isEqualTo(1);
            assertThat(backend.bulkhead.inUse()).isZero();
        } finally {
            callers.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
            server.close();
        }
    }

    /** The backend closes an idle connection at the moment at which the pool gives it away. */
    @Test
    void triesOnceMoreIfTheConnectionWasClosedBeforeTheHeadWasSent() throws Exception {
        TestBackend server = TestBackend.healthy();
        EventLoopGroup callers = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
        List<Attempt> attempts = new CopyOnWriteArrayList<>();
        List<ExchangeRecord> ended = new CopyOnWriteArrayList<>();
        try (SocketBackend backend = new SocketBackend(server, DEADLINE, null)) {
            Engine engine = new Engine(
                    System::nanoTime,
                    () -> 0.5,
                    new Drain(),
                    new OverloadGuard(new OverloadProperties(100, Duration.ofMinutes(1), 100)),
                    new Limits(1000, DEADLINE.toNanos(), DEADLINE.toNanos(), 1000, 64, 1 << 20, 0),
                    (of, admission, evidence, now) -> {
                        Attempt attempt = attempts.isEmpty()
                                ? new ClosedBeforeSend(of, admission, evidence, now)
                                : Attempt.overNetwork(of, admission, evidence, now);
                        attempts.add(attempt);
                        return attempt;
                    },
                    ProbeRequest.overNetwork(System::nanoTime));
            LocalChannel channel = new LocalChannel();
            callers.register(channel).sync();
            FakeCaller caller = new FakeCaller(channel);
            caller.method = HttpMethod.POST;
            Route route = new Route(
                    "orders",
                    backend.backend,
                    ROUTE_DEADLINE.toNanos(),
                    Mode.REQUEST,
                    null,
                    null,
                    null,
                    null,
                    ended::add,
                    new InFlightCounter(),
                    new UsualTime(),
                    null);
            Exchange exchange = new Exchange(engine, route, caller, System.nanoTime());
            channel.eventLoop().execute(exchange::start);

            await().until(() -> !caller.answered.isEmpty() || !ended.isEmpty());
            exchange.flushed();
            await().until(() -> !ended.isEmpty());

            assertThat(attempts).hasSize(2);
            assertThat(exchange.record().status()).isEqualTo(200);
            assertThat(server.requests()).isEqualTo(1);
            assertThat(backend.bulkhead.inUse()).isZero();
        } finally {
            callers.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
            server.close();
        }
    }

    private static final class ClosedBeforeSend extends HttpAttempt {

        ClosedBeforeSend(Exchange exchange, Admission admission, HealthEvidence evidence, long now) {
            super(exchange, admission, evidence, now);
        }

        @Override
        @SuppressWarnings("FutureReturnValueIgnored") // On the channel's event loop: closed when it returns.
        void connected(Connection established) {
            super.connected(established);
            established.channel().close();
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
