package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.weir.health.Health;
import io.weir.health.Probe;
import io.weir.instance.Instance;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.Connection;
import reactor.netty.NettyOutbound;
import reactor.netty.http.client.HttpClientRequest;
import reactor.netty.http.client.HttpClientResponse;

/**
 * A {@link ProbeRequest} in flight. It ends when its answer is read or cut, when it fails, or when it has
 * taken as long as a probe may.
 *
 * <p>Concurrency: the time-out may fire on another thread than the connection's. It closes the connection on
 * the connection's event loop. It does not cancel the subscription of a request in flight: Reactor
 * Netty would neither deliver nor release an answer that arrives at the same moment. Either the time-out
 * finds the connection, or the connection finds that the time has passed.
 */
final class ProbeCall {

    private final Instance instance;
    private final ProbeRequest request;
    private final Probe probe;
    private final LongSupplier nanoClock;
    private final Disposable.Swap subscription = Disposables.swap();
    private volatile @Nullable Connection connection;
    private volatile @Nullable EventLoop connectionLoop;
    private volatile boolean isGivenUp;

    ProbeCall(Instance instance, ProbeRequest request, Probe probe, LongSupplier nanoClock) {
        this.instance = instance;
        this.request = request;
        this.probe = probe;
        this.nanoClock = nanoClock;
    }

    void send() {
        Disposable timeout = Schedulers.parallel().schedule(this::giveUp, probe.patienceNanos(), TimeUnit.NANOSECONDS);
        subscription.update(instance.pool()
                .client()
                .request(request.method())
                .uri(request.target())
                .send(this::write)
                .responseConnection(this::judge)
                .then()
                .doFinally(signal -> timeout.dispose())
                .subscribe(nothing -> {}, failure -> health().probeFailed(probe), () -> health().probeFailed(probe)));
    }

    /** On the connection's event loop. */
    private Publisher<Void> write(HttpClientRequest toBackend, NettyOutbound out) {
        Connection established = (Connection) toBackend;
        // Read now: a connection does not know its event loop any more once its answer is complete.
        connectionLoop = established.channel().eventLoop();
        connection = established;
        if (isGivenUp) {
            established.dispose();
            return Mono.never();
        }
        toBackend.requestHeaders().set(request.head());
        ByteBuf body = request.body();
        return body.isReadable() ? out.sendObject(body.duplicate()) : out;
    }

    /**
     * Completes when the answer is read or cut. A probe with a good answer ends earlier, with the answer's
     * head.
     */
    private Publisher<Void> judge(HttpClientResponse answer, Connection from) {
        return request.rule().isGood(answer, from).flatMap(good -> {
            if (good) {
                health().probeAnswered(probe, nanoClock.getAsLong());
            } else {
                health().probeFailed(probe);
            }
            return discarded(from);
        });
    }

    /** Cancelling the body closes the connection. */
    private static Mono<Void> discarded(Connection from) {
        AtomicInteger left = new AtomicInteger(ProbeRequest.MAX_BODY_BYTES);
        return from.inbound()
                .receive()
                .map(ByteBuf::readableBytes)
                .takeUntil(bytes -> left.addAndGet(-bytes) < 0)
                .then();
    }

    private void giveUp() {
        health().probeFailed(probe);
        isGivenUp = true;
        Connection sent = connection;
        EventLoop loop = connectionLoop;
        if (sent == null || loop == null) {
            subscription.dispose();
        } else {
            loop.execute(sent::dispose);
        }
    }

    private Health health() {
        return instance.health();
    }
}
