package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpStatusClass;
import io.weir.health.Breaker.Permission;
import io.weir.instance.TrailingFields;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.NettyOutbound;
import reactor.netty.channel.ChannelOperations;
import reactor.netty.http.client.HttpClientRequest;
import reactor.netty.http.client.HttpClientResponse;

/**
 * A try over Reactor Netty's client.
 *
 * <p>Concurrency: the exchange's event loop drives it; Reactor Netty calls back on the connection's, which may be another. Those
 * callbacks touch volatile fields only and hop. What arrives after {@link #cancel()} is closed and released where it
 * arrives.
 */
class HttpAttempt extends Attempt implements CoreSubscriber<Void>, Relay.Listener {

    private static final int UNDECIDED = 0;
    private static final int SENT = 1;
    private static final int WITHDRAWN = 2;
    private static final AtomicIntegerFieldUpdater<HttpAttempt> SENDING =
            AtomicIntegerFieldUpdater.newUpdater(HttpAttempt.class, "sending");

    /** Whether the request goes to the connection, or nowhere any more: each event loop decides it for its own part, and one of them first. */
    private volatile int sending = UNDECIDED;

    private @Nullable Subscription subscription;
    private @Nullable HttpClientResponse response;
    private @Nullable Connection connection;
    private @Nullable BodyAggregator collector;
    private boolean headTaken;
    private volatile @Nullable EventLoop connectionLoop;
    private volatile boolean cancelled;
    private volatile @Nullable Connection request;
    private volatile @Nullable Relay upload;
    private volatile @Nullable TrailingFields trailing;
    private volatile @Nullable Relay download;

    HttpAttempt(Exchange exchange, Permission permission, long now) {
        super(exchange, permission, now);
    }

    @Override
    void start() {
        Caller caller = exchange.caller();
        backend.pool()
                .client()
                .request(caller.method())
                .uri(target())
                .send(this::send)
                .responseConnection(this::received)
                .subscribe(this);
    }

    @Override
    final void cancel() {
        cancelled = true;
        abandon();
    }

    /** Ends what it has come to. */
    void abandon() {
        Relay down = download;
        BodyAggregator collecting = collector;
        if (down != null) {
            if (!down.stop()) {
                // Nobody has begun to read the answer, and nobody will.
                discard();
            }
        } else if (collecting != null) {
            collecting.stop();
        } else if (headTaken) {
            discard();
        } else {
            endUnanswered();
        }
        Relay up = upload;
        if (up != null) {
            up.stop();
        }
    }

    /**
     * Once the request is on its way, not by the subscription: of an answer that comes at the same moment Reactor Netty would neither tell nor
     * release the body.
     */
    private void endUnanswered() {
        Connection sent = request;
        Subscription current = subscription;
        if (sent != null) {
            close(sent);
        } else if (current != null) {
            current.cancel();
        }
    }

    @Override
    final boolean connected() {
        return request != null;
    }

    @Override
    boolean withdraw() {
        return SENDING.compareAndSet(this, UNDECIDED, WITHDRAWN) || sending == WITHDRAWN;
    }

    @Override
    long callerNanos(long now) {
        Relay up = upload;
        Relay down = download;
        return (up == null ? 0 : up.sourceNanos(now)) + (down == null ? 0 : down.sinkNanos(now));
    }

    @Override
    boolean waitsForUpload() {
        Relay up = upload;
        return up != null && up.waitsForSource();
    }

    @Override
    boolean heldUpByCaller() {
        Relay down = download;
        return down != null && !down.ended() && !down.waitsForSource();
    }

    @Override
    long lastMovedNanos() {
        Relay up = upload;
        Relay down = download;
        long sent = up == null ? Long.MIN_VALUE : up.lastNanos();
        long received = down == null ? Long.MIN_VALUE : down.lastNanos();
        if (sent == Long.MIN_VALUE || received == Long.MIN_VALUE) {
            return sent == Long.MIN_VALUE ? received : sent;
        }
        return received - sent > 0 ? received : sent;
    }

    @Override
    long answerBytes() {
        Relay down = download;
        BodyAggregator collecting = collector;
        return down != null ? down.bytes() : collecting != null ? collecting.bytes() : 0;
    }

    @Override
    void collect(int maxBytes) {
        BodyAggregator collecting = new BodyAggregator(this, maxBytes, connectionLoop());
        collector = collecting;
        connection().inbound().receiveObject().subscribe(collecting);
    }

    @Override
    Publisher<ByteBuf> relay() {
        Relay relay = new Relay(
                connection().inbound().receiveObject(),
                Long.MAX_VALUE,
                this,
                exchange.engine().nanoClock());
        download = relay;
        return relay;
    }

    private Publisher<Void> send(HttpClientRequest head, NettyOutbound out) {
        ChannelOperations<?, ?> operations = (ChannelOperations<?, ?>) head;
        asksOn(operations);
        if (cancelled || !SENDING.compareAndSet(this, UNDECIDED, SENT)) {
            return Mono.never();
        }
        HttpHeaders headers = head.requestHeaders();
        headers.clear();
        writeHead(headers);
        Caller caller = exchange.caller();
        if (!caller.hasBody()) {
            return out;
        }
        if (!headers.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            headers.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
            trailing = TrailingFields.await(operations.channel());
        }
        Relay relay = new Relay(
                caller.body(),
                exchange.engine().limits().maxBodyBytes(),
                this,
                exchange.engine().nanoClock());
        upload = relay;
        // Not send(): for GET, HEAD and DELETE that would hold the whole body in memory.
        return out.sendObject(relay);
    }

    /** There is a connection, and the request is about to be sent on it. */
    final void asksOn(Connection connected) {
        // Now, since a connection whose answer is complete does not know it any more.
        connectionLoop = connected.channel().eventLoop();
        request = connected;
    }

    /** The answer's head came, on the connection's event loop. */
    final Mono<Void> received(HttpClientResponse head, Connection from) {
        if (head.status().codeClass() == HttpStatusClass.INFORMATIONAL) {
            // A 101: what comes behind it is no HTTP any more, for nobody.
            from.markPersistent(false);
        }
        EventLoop loop = exchange.loop();
        if (loop.inEventLoop()) {
            take(head, from);
        } else {
            loop.execute(() -> take(head, from));
        }
        return Mono.empty();
    }

    /** Takes the answer's head to the exchange. */
    void take(HttpClientResponse head, Connection from) {
        headTaken = true;
        response = head;
        connection = from;
        if (cancelled) {
            discard();
        } else {
            headReceived(head.status().code(), head.responseHeaders());
        }
    }

    @Override
    public void onSubscribe(Subscription s) {
        subscription = s;
        s.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Void nothing) {}

    @Override
    public void onComplete() {}

    @Override
    public void onError(Throwable failure) {
        run(() -> failed(failure));
    }

    @Override
    public void relayEnded(Relay relay, @Nullable Throwable failure) {
        if (relay == upload) {
            if (failure != null) {
                run(() -> uploadFailed(failure));
            } else {
                passTrailers();
            }
        } else if (failure == null) {
            HttpHeaders trailers = trailers();
            run(() -> complete(trailers));
        } else {
            run(() -> broke(failure));
        }
    }

    /** What came behind the request's body goes behind it again. On the caller's event loop, before the backend's is told of the end. */
    private void passTrailers() {
        TrailingFields behind = trailing;
        if (behind != null) {
            HttpHeaders fields = exchange.caller().requestTrailers();
            if (!fields.isEmpty()) {
                behind.set(fields);
            }
        }
    }

    /** On the exchange's event loop, unless it is cancelled before. */
    final void run(Runnable event) {
        EventLoop loop = exchange.loop();
        if (loop.inEventLoop()) {
            if (!cancelled) {
                event.run();
            }
        } else {
            loop.execute(() -> {
                if (!cancelled) {
                    event.run();
                }
            });
        }
    }

    /** What came after the body; Reactor Netty has it by the time that the body completes. */
    final HttpHeaders trailers() {
        HttpClientResponse from = response;
        if (from == null || from.responseHeaders().contains(HttpHeaderNames.CONTENT_LENGTH)) {
            return EmptyHttpHeaders.INSTANCE;
        }
        HttpHeaders[] found = {EmptyHttpHeaders.INSTANCE};
        from.trailerHeaders().subscribe(trailers -> found[0] = trailers);
        return found[0];
    }

    final boolean isCancelled() {
        return cancelled;
    }

    private Connection connection() {
        Connection current = connection;
        if (current == null) {
            throw new IllegalStateException("no answer has begun");
        }
        return current;
    }

    private EventLoop connectionLoop() {
        EventLoop of = connectionLoop;
        if (of == null) {
            throw new IllegalStateException("nothing has been sent");
        }
        return of;
    }

    /** Closes the connection, whose answer nobody reads. */
    private void discard() {
        close(connection());
    }

    /**
     * On the connection's event loop: there it is certain that the answer is not complete, or that the connection is somebody else's by now and
     * stays open.
     */
    private void close(Connection mine) {
        EventLoop of = connectionLoop();
        if (of.inEventLoop()) {
            dispose(mine);
        } else {
            of.execute(() -> dispose(mine));
        }
    }

    void dispose(Connection mine) {
        mine.dispose();
    }
}
