package io.weir.probe;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.weir.instance.Instance;
import io.weir.retry.PushbackField;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.NettyOutbound;
import reactor.netty.http.client.HttpClientRequest;
import reactor.netty.http.client.HttpClientResponse;

/**
 * A {@link ProbeRequest} in flight. It ends when its answer is read or cut, when it fails, or when it is
 * given up.
 *
 * <p>Concurrency: {@link #giveUp} may run on another thread than the connection's. It closes the connection
 * on the connection's event loop. It does not cancel the subscription of a request in flight: Reactor
 * Netty would neither deliver nor release an answer that arrives at the same moment. Either the time-out
 * finds the connection, or the connection finds that the time has passed.
 */
final class ProbeCall {

    private final Instance instance;
    private final ProbeRequest request;
    private final ProbeRequest.Outcome outcome;
    private final Disposable.Swap subscription = Disposables.swap();
    private volatile @Nullable Connection connection;
    private volatile @Nullable EventLoop connectionLoop;
    private volatile boolean isGivenUp;

    ProbeCall(Instance instance, ProbeRequest request, ProbeRequest.Outcome outcome) {
        this.instance = instance;
        this.request = request;
        this.outcome = outcome;
    }

    /**
     * Sends the request.
     *
     * @param whenOver runs after the end, on any thread
     */
    void send(Runnable whenOver) {
        subscription.update(instance.pool()
                .client()
                .request(request.method())
                .uri(request.target())
                .send(this::write)
                .responseConnection(this::judge)
                .then()
                .doFinally(signal -> whenOver.run())
                .subscribe(nothing -> {}, outcome::failed, () -> outcome.bad("answered incompletely")));
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
        instance.readCapacity(answer.responseHeaders(), instance.health().now());
        return request.rule().isGood(answer, from).flatMap(good -> {
            if (good) {
                outcome.good();
            } else {
                outcome.pushedBack(PushbackField.nanos(answer.responseHeaders()));
                outcome.bad(request.rule().whyBad(answer));
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

    /** Closes the connection of a request that has taken too long. From any thread. */
    void giveUp() {
        isGivenUp = true;
        Connection sent = connection;
        EventLoop loop = connectionLoop;
        if (sent == null || loop == null) {
            subscription.dispose();
        } else {
            loop.execute(sent::dispose);
        }
    }
}
