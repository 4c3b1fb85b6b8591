package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpStatusClass;
import io.weir.body.BodyAggregator;
import io.weir.body.Relay;
import io.weir.instance.Failures;
import io.weir.instance.InformationalFilter;
import io.weir.outcome.Problem;
import io.weir.outcome.Reason;
import java.util.List;
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
 * An attempt over Reactor Netty's HTTP client.
 *
 * <p>Concurrency: the exchange's event loop drives the attempt. Reactor Netty calls back on the connection's
 * event loop, which may be another; these callbacks touch only volatile fields, and hop to the exchange's
 * event loop. A connection or buffer that arrives after {@link #cancel()} is closed or released on the event
 * loop on which it arrives.
 */
class HttpAttempt extends Attempt implements CoreSubscriber<Void>, Relay.Listener, BodyAggregator.Answer {

    private static final int UNDECIDED = 0;
    private static final int SENT = 1;
    private static final int WITHDRAWN = 2;
    private static final AtomicIntegerFieldUpdater<HttpAttempt> SENDING =
            AtomicIntegerFieldUpdater.newUpdater(HttpAttempt.class, "sending");

    /** Whether the request is sent or withdrawn. Both event loops try to decide; the first one wins. */
    private volatile int sending = UNDECIDED;

    private @Nullable Subscription subscription;
    private @Nullable HttpClientResponse response;
    private @Nullable Connection connection;
    private @Nullable BodyAggregator aggregator;
    /** The answer has failed and ends with trailers that tell the caller so. */
    private boolean endsEarly;

    private volatile @Nullable EventLoop connectionLoop;
    private volatile boolean cancelled;
    private volatile boolean isUnsent;
    private final RequestUpload upload;
    private volatile @Nullable Connection request;
    private volatile @Nullable Relay download;

    HttpAttempt(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
        super(exchange, admission, evidence, now);
        this.upload = new RequestUpload(exchange);
    }

    @Override
    public void start() {
        upload.begin();
        instance.pool()
                .client()
                .request(exchange.record().caller().method())
                .uri(target())
                .send(this::send)
                .responseConnection(this::onResponse)
                .subscribe(this);
    }

    @Override
    public final void cancel() {
        cancelled = true;
        stop();
    }

    /** Stops every transfer of the attempt, and closes the connection unless it is reusable. */
    void stop() {
        Relay down = download;
        BodyAggregator aggregating = aggregator;
        if (aggregating != null) {
            aggregating.stop();
            if (down != null) {
                down.stop();
            }
        } else if (down != null) {
            if (!down.stop()) {
                // The answer's body has no subscriber, and gets none.
                close(connection());
            } else if (endsEarly) {
                runOnConnectionLoop(down::endEarly);
            }
        } else if (connection != null) {
            close(connection());
        } else {
            stopUnanswered();
        }
        upload.stop();
    }

    /**
     * Closes the connection if the request is on its way. Cancelling the subscription instead would leak the
     * body of an answer that arrives at the same moment: Reactor Netty neither delivers nor releases it.
     */
    private void stopUnanswered() {
        Connection sent = request;
        Subscription current = subscription;
        if (sent != null) {
            close(sent);
        } else if (current != null) {
            current.cancel();
        }
    }

    /** A gRPC answer that fails ends with a status, because a caller sees a reset as INTERNAL. */
    @Override
    public boolean closesCallerSide(Reason why) {
        Relay down = download;
        if (down == null || !down.hasStarted() || why == Reason.CLIENT_TOO_SLOW || !mayEndEarly()) {
            return false;
        }
        HttpHeaders status = new DefaultHttpHeaders();
        Problem.writeGrpcStatus(why, status);
        exchange.record().caller().trailers(status);
        endsEarly = true;
        return true;
    }

    /**
     * Whether an answer that fails can end with trailers. An answer with a Content-Length cannot: it would be
     * shorter than announced.
     */
    private boolean mayEndEarly() {
        HttpClientResponse from = response;
        return exchange.record().caller().received().readsFailureInTrailers()
                && from != null
                && !from.responseHeaders().contains(HttpHeaderNames.CONTENT_LENGTH);
    }

    @Override
    public final boolean isConnected() {
        return request != null;
    }

    @Override
    public boolean withdraw() {
        return isUnsent || SENDING.compareAndSet(this, UNDECIDED, WITHDRAWN) || sending == WITHDRAWN;
    }

    @Override
    public long callerNanos(long now) {
        Relay down = download;
        return upload.callerNanos(now) + (down == null ? 0 : down.sinkNanos(now));
    }

    @Override
    public boolean isWaitingForUpload() {
        return upload.isWaitingForCaller();
    }

    @Override
    public boolean isHeldUpByCaller() {
        Relay down = download;
        return down != null && !down.hasEnded() && !down.isWaitingForSource();
    }

    @Override
    public long lastMovedNanos() {
        Relay down = download;
        long sent = upload.lastMovedNanos();
        long received = down == null ? Long.MIN_VALUE : down.lastNanos();
        boolean isSentLater = received == Long.MIN_VALUE || (sent != Long.MIN_VALUE && sent - received > 0);
        return isSentLater ? sent : received;
    }

    @Override
    public long answerBytes() {
        Relay down = download;
        BodyAggregator aggregating = aggregator;
        return down != null ? down.bytes() : aggregating != null ? aggregating.bytes() : 0;
    }

    @Override
    public void aggregate(int maxBytes, boolean failsIfLarger) {
        BodyAggregator aggregating = new BodyAggregator(this, maxBytes, failsIfLarger, connectionLoop());
        aggregator = aggregating;
        (failsIfLarger ? answerBody() : recordedBody()).subscribe(aggregating);
    }

    @Override
    public Publisher<ByteBuf> relay() {
        Relay relay = new Relay(
                recordedBody(), Long.MAX_VALUE, this, exchange.resources().nanoClock());
        if (mayEndEarly()) {
            relay.holdFailure();
        }
        download = relay;
        return relay;
    }

    /** The backend pauses within a small answer: it is passed on as it arrives. */
    @Override
    public final void passOn(BodyAggregator body) {
        HttpClientResponse from = response;
        if (from == null) {
            throw new IllegalStateException("no answer has begun");
        }
        int status = exchange.record().status();
        Relay relay = new Relay(body, Long.MAX_VALUE, this, exchange.resources().nanoClock());
        download = relay;
        exchange.answerBegins(this, status, exchange.now());
        exchange.record().caller().begin(status, withSession(from.responseHeaders()), relay);
    }

    private Publisher<Void> send(HttpClientRequest head, NettyOutbound out) {
        ChannelOperations<?, ?> operations = (ChannelOperations<?, ?>) head;
        connected(operations);
        if (cancelled || !SENDING.compareAndSet(this, UNDECIDED, SENT)) {
            return Mono.never();
        }
        if (exchange.record().caller().readsHints()) {
            InformationalFilter.listen(operations.channel(), links -> runOnExchangeLoop(() -> hinted(links)));
        }
        HttpHeaders headers = head.requestHeaders();
        headers.clear();
        writeHead(headers);
        Publisher<ByteBuf> body = upload.start(headers, operations, this);
        // Not send(): for GET, HEAD and DELETE it would buffer the whole body.
        return body == null ? out : out.sendObject(body);
    }

    /**
     * The connection is established, and the request is about to be sent on it. On the connection's event
     * loop.
     */
    void connected(Connection established) {
        // Read now: a connection does not know its event loop any more once its answer is complete.
        connectionLoop = established.channel().eventLoop();
        request = established;
    }

    /** The backend has sent early hints, on the exchange's event loop. */
    private void hinted(List<String> links) {
        if (response == null) {
            exchange.record().caller().hint(links);
        }
    }

    /** The answer's head has arrived, on the connection's event loop. */
    final Mono<Void> onResponse(HttpClientResponse head, Connection from) {
        if (head.status().codeClass() == HttpStatusClass.INFORMATIONAL) {
            // The bytes after a 101 are not HTTP: never reuse the connection.
            from.markPersistent(false);
        }
        EventLoop loop = exchange.loop();
        if (loop.inEventLoop()) {
            receiveHead(head, from);
        } else {
            loop.execute(() -> receiveHead(head, from));
        }
        return Mono.empty();
    }

    /** The answer's head has arrived, on the exchange's event loop. */
    void receiveHead(HttpClientResponse head, Connection from) {
        response = head;
        connection = from;
        if (cancelled) {
            close(connection());
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
    public void onError(Throwable cause) {
        Throwable failure = checkUnsent(cause);
        runOnExchangeLoop(() -> failed(failure));
    }

    /**
     * The connection has failed. Stores whether the failure proves that the backend has processed nothing,
     * and that none of the request's body was read.
     *
     * @return the failure to judge
     */
    final Throwable checkUnsent(Throwable cause) {
        Throwable failure = Failures.judged(cause, request);
        isUnsent = Failures.isUnsent(failure) && !upload.isSubscribed();
        return failure;
    }

    final boolean isUnsent() {
        return isUnsent;
    }

    @Override
    public void relayEnded(Relay relay, @Nullable Throwable failure) {
        if (upload.isBy(relay)) {
            if (failure != null) {
                runOnExchangeLoop(() -> uploadFailed(failure));
            } else {
                upload.passTrailers();
            }
            relay.passEnd(failure);
        } else {
            HttpHeaders trailers = failure == null ? trailers() : EmptyHttpHeaders.INSTANCE;
            runOnExchangeLoop(() -> answerEnded(relay, trailers, failure));
        }
    }

    private void answerEnded(Relay relay, HttpHeaders trailers, @Nullable Throwable failure) {
        if (failure == null) {
            complete(trailers);
        } else {
            answerBroken(failure);
        }
        relay.passEnd(failure);
    }

    /** Runs the event on the exchange's event loop, unless the attempt is cancelled first. */
    @Override
    public final void runOnExchangeLoop(Runnable event) {
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

    /** The answer's trailers. Reactor Netty knows them when the body completes. */
    @Override
    public final HttpHeaders trailers() {
        HttpClientResponse from = response;
        if (from == null || from.responseHeaders().contains(HttpHeaderNames.CONTENT_LENGTH)) {
            return EmptyHttpHeaders.INSTANCE;
        }
        HttpHeaders[] found = {EmptyHttpHeaders.INSTANCE};
        from.trailerHeaders().subscribe(trailers -> found[0] = trailers);
        return found[0];
    }

    @Override
    public final EventLoop exchangeLoop() {
        return exchange.loop();
    }

    @Override
    public final boolean isCancelled() {
        return cancelled;
    }

    /** The answer's body: buffers, or holders of them, lent for the time of {@code onNext}. */
    Publisher<?> answerBody() {
        return connection().inbound().receiveObject();
    }

    /** The answer's body, which is recorded if it can be a last good answer. */
    private Publisher<?> recordedBody() {
        HttpClientResponse from = response;
        return from == null || exchange.record().route().lastGood() == null
                ? answerBody()
                : LastGoodAnswers.recorded(answerBody(), exchange, from, instance.authority(), this::trailers);
    }

    private Connection connection() {
        Connection current = connection;
        if (current == null) {
            throw new IllegalStateException("no answer has begun");
        }
        return current;
    }

    private EventLoop connectionLoop() {
        EventLoop loop = connectionLoop;
        if (loop == null) {
            throw new IllegalStateException("no connection is established");
        }
        return loop;
    }

    /**
     * Closes a connection on its own event loop. Only there is it certain whether the answer is still
     * incomplete. After a complete answer the connection may belong to another exchange, so it stays open.
     */
    private void close(Connection mine) {
        runOnConnectionLoop(() -> dispose(mine));
    }

    private void runOnConnectionLoop(Runnable task) {
        EventLoop loop = connectionLoop();
        if (loop.inEventLoop()) {
            task.run();
        } else {
            loop.execute(task);
        }
    }

    void dispose(Connection mine) {
        mine.dispose();
    }
}
