package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.body.Relay;
import io.weir.instance.ContinueSignal;
import io.weir.instance.TrailingFields;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.netty.channel.ChannelOperations;

/**
 * The body of one attempt's request, on its way to the backend.
 *
 * <p>Concurrency: the exchange's event loop begins the upload before it asks for a connection; the
 * connection's event loop starts the relay. Any thread reads the volatile fields.
 */
final class RequestUpload {

    /** A body of these methods is unusual; a backend may refuse one, or close the connection. */
    private static final Set<HttpMethod> EXPECT_NO_BODY =
            Set.of(HttpMethod.GET, HttpMethod.HEAD, HttpMethod.DELETE, HttpMethod.OPTIONS, HttpMethod.TRACE);

    private final ExchangeContext exchange;
    private final @Nullable RequestBody body;
    /** Whether the backend decides about the rest of the body, of which the beginning is read ahead. */
    private final boolean asksBackendToContinue;

    private boolean hasBody;
    private volatile @Nullable Relay relay;
    private volatile @Nullable TrailingFields trailing;

    RequestUpload(ExchangeContext exchange) {
        this.exchange = exchange;
        this.body = exchange.body();
        this.asksBackendToContinue = body != null
                && !body.isComplete()
                && exchange.record().caller().received().expectsContinue();
    }

    /** Decides whether a body is sent. */
    void begin() {
        // Over HTTP/2, a request may turn out to have no body only when it ends.
        hasBody = body != null
                && !(body.isEmpty()
                        && EXPECT_NO_BODY.contains(exchange.record().caller().method()));
        if (body != null && !hasBody) {
            body.release();
        }
    }

    /**
     * The body to send, and the fields that announce it. On the connection's event loop.
     *
     * @param listener learns the end of the relay
     * @return null: none
     */
    @Nullable
    Publisher<ByteBuf> start(HttpHeaders head, ChannelOperations<?, ?> operations, Relay.Listener listener) {
        if (body == null || !hasBody) {
            return null;
        }
        if (!head.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            head.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
            trailing = TrailingFields.await(operations.channel());
        }
        Relay started = new Relay(
                body,
                exchange.resources().limits().maxBodyBytes(),
                listener,
                exchange.resources().nanoClock());
        relay = started;
        if (!asksBackendToContinue) {
            return started;
        }
        // The body starts when the backend has asked for it.
        head.set(HttpHeaderNames.EXPECT, HttpHeaderValues.CONTINUE);
        return started.delaySubscription(
                ContinueSignal.await(operations.channel()).received());
    }

    /**
     * Passes the request's trailers on. On the caller's event loop, before the backend sees the end of the
     * body.
     */
    void passTrailers() {
        TrailingFields awaited = trailing;
        if (awaited != null && body != null && !body.trailers().isEmpty()) {
            awaited.set(body.trailers());
        }
    }

    void stop() {
        Relay started = relay;
        if (started != null) {
            started.stop();
        }
    }

    boolean isBy(Relay other) {
        return relay == other;
    }

    /** Whether a part of the body may have been read. */
    boolean isSubscribed() {
        Relay started = relay;
        return started != null && started.isSubscribed();
    }

    /** Time, up to now, that the caller needed to send the body. */
    long callerNanos(long now) {
        Relay started = relay;
        return started == null ? 0 : started.sourceNanos(now);
    }

    boolean isWaitingForCaller() {
        Relay started = relay;
        return started != null && started.isWaitingForSource();
    }

    /** The last moment at which bytes moved; {@link Long#MIN_VALUE}: never. */
    long lastMovedNanos() {
        Relay started = relay;
        return started == null ? Long.MIN_VALUE : started.lastNanos();
    }
}
