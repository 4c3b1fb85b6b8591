package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.local.LocalIoHandler;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.drain.Drain;
import io.weir.outcome.Reason;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadProperties;
import io.weir.probe.ProbeRequest;
import io.weir.retry.RetryPolicy;
import io.weir.retry.RetryProperties;
import io.weir.testing.SocketBackend;
import io.weir.testing.TestBackend;
import io.weir.testing.TestRoute;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.netty.Connection;

class HttpAttemptTest {

    private static final Duration DEADLINE = Duration.ofSeconds(30);
    /** More than is aggregated. */
    private static final int ANSWER_BYTES = 1 << 20;
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
            Engine engine = engine(
                    // The jitter of the backoff is read between the withdrawal and the retry.
                    () -> {
                        late.countDown();
                        await().until(() -> attempts.getFirst().isConnected());
                        return 0.5;
                    },
                    (of, admission, evidence, now) -> {
                        Attempt attempt = AttemptFactory.OVER_NETWORK.create(of, admission, evidence, now);
                        attempts.add(attempt);
                        return attempt;
                    });
            LocalChannel channel = new LocalChannel();
            callers.register(channel).sync();
            FakeCaller caller = new FakeCaller(channel);
            caller.method = HttpMethod.POST;
            Route route = route(
                    backend, new RetryPolicy(new RetryProperties(2, null, Duration.ofMillis(1), Set.of(503))), ended);
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
            Engine engine = engine(() -> 0.5, (of, admission, evidence, now) -> {
                Attempt attempt = attempts.isEmpty()
                        ? new ClosedBeforeSend(of, admission, evidence, now)
                        : AttemptFactory.OVER_NETWORK.create(of, admission, evidence, now);
                attempts.add(attempt);
                return attempt;
            });
            LocalChannel channel = new LocalChannel();
            callers.register(channel).sync();
            FakeCaller caller = new FakeCaller(channel);
            caller.method = HttpMethod.POST;
            Route route = route(backend, null, ended);
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

    /**
     * The writer of an answer completes as soon as it knows the end of the body, maybe within a task that
     * runs already. The exchange must know the end before, or it would take the last flush for an early one.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void passesTheEndOfAnAnswerOnAfterTheExchangeKnowsIt(boolean isComplete) throws Exception {
        String head = "HTTP/1.1 200 OK\r\nContent-Length: " + ANSWER_BYTES + "\r\n\r\n";
        TestBackend server = TestBackend.start((request, conversation) -> {
            conversation.write(head);
            conversation.write(new byte[isComplete ? ANSWER_BYTES : ANSWER_BYTES - 1]);
            if (!isComplete) {
                conversation.close();
            }
        });
        EventLoopGroup callers = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
        List<ExchangeRecord> ended = new CopyOnWriteArrayList<>();
        CompletableFuture<Boolean> isEndKnown = new CompletableFuture<>();
        try (SocketBackend backend = new SocketBackend(server, DEADLINE, null)) {
            LocalChannel channel = new LocalChannel();
            callers.register(channel).sync();
            FakeCaller caller = new FakeCaller(channel);
            Exchange exchange = new Exchange(
                    engine(() -> 0.5, AttemptFactory.OVER_NETWORK),
                    route(backend, null, ended),
                    caller,
                    System.nanoTime());
            caller.download = body -> Flux.from(body)
                    .doOnNext(ByteBuf::release)
                    .doFinally(signal -> {
                        isEndKnown.complete(exchange.loop().inEventLoop() && !exchange.isUnderWay());
                        exchange.flushed();
                    })
                    .subscribe(buffer -> {}, failure -> {});
            channel.eventLoop().execute(exchange::start);

            assertThat(isEndKnown).succeedsWithin(DEADLINE).isEqualTo(true);
            await().until(() -> !ended.isEmpty());
            assertThat(exchange.record().reason()).isEqualTo(isComplete ? null : Reason.CONNECTION_LOST);
            assertThat(backend.bulkhead.inUse()).isZero();
        } finally {
            callers.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
            server.close();
        }
    }

    private static Engine engine(DoubleSupplier jitter, AttemptFactory attempts) {
        return new Engine(
                System::nanoTime,
                jitter,
                new Drain(),
                new OverloadGuard(new OverloadProperties(
                        100, Duration.ofMinutes(1), Duration.ofMillis(100), Duration.ofMinutes(1), 100)),
                new Limits(1000, DEADLINE.toNanos(), DEADLINE.toNanos(), 1000, 64, 1 << 20, 0),
                attempts,
                ProbeRequest.overNetwork(System::nanoTime));
    }

    private static Route route(SocketBackend backend, @Nullable RetryPolicy retry, List<ExchangeRecord> ended) {
        return TestRoute.to(backend.backend, ended::add)
                .deadline(ROUTE_DEADLINE)
                .retry(retry)
                .build();
    }

    private static final class ClosedBeforeSend extends HttpAttempt {

        ClosedBeforeSend(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
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
