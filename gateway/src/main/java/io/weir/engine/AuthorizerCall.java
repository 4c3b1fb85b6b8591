package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.util.AsciiString;
import io.weir.authentication.ClientCertificate;
import io.weir.authorization.AuthorizationRule;
import io.weir.limit.Priority;
import io.weir.limit.TenantKey;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * The caller's side of a call to an authorizer: its request is a GET on behalf of another exchange, and its
 * answer ends in {@link Authorizing}. All that tells callers apart, such as the tenant, is that of the
 * exchange.
 */
final class AuthorizerCall implements Caller, ReceivedRequest {

    /** A larger body is not for the caller. */
    static final int MAX_BODY_BYTES = 64 * 1024;

    private static final AsciiString X_FORWARDED_METHOD = AsciiString.cached("x-forwarded-method");
    private static final AsciiString X_FORWARDED_URI = AsciiString.cached("x-forwarded-uri");
    private static final AsciiString[] TRACE_FIELDS = {
        AsciiString.cached("traceparent"), AsciiString.cached("tracestate")
    };

    private final ExchangeContext exchange;
    private final ReceivedRequest of;
    private final AuthorizationRule rule;
    private final Authorizing phase;
    private @Nullable ExchangeContext call;

    AuthorizerCall(ExchangeContext exchange, AuthorizationRule rule, Authorizing phase) {
        this.exchange = exchange;
        this.of = exchange.record().caller().received();
        this.rule = rule;
        this.phase = phase;
    }

    /** Starts the call. */
    void start(ExchangeContext created) {
        call = created;
        created.startFor(exchange);
    }

    private ExchangeContext call() {
        ExchangeContext started = call;
        if (started == null) {
            throw new IllegalStateException("call: not started (expected: started)");
        }
        return started;
    }

    // ---------------------------------------------------------------- the request

    @Override
    public ReceivedRequest received() {
        return this;
    }

    @Override
    public HttpMethod method() {
        return HttpMethod.GET;
    }

    @Override
    public boolean hasBody() {
        return false;
    }

    @Override
    public Publisher<?> body() {
        return Flux.empty();
    }

    @Override
    public String target() {
        return rule.target();
    }

    @Override
    public void writeHead(HttpHeaders toAuthorizer, String authority) {
        rule.copyRequest(of.headers(), toAuthorizer);
        for (AsciiString name : TRACE_FIELDS) {
            if (of.headers().contains(name)) {
                toAuthorizer.set(name, of.headers().getAll(name));
            }
        }
        writeGatewayFields(toAuthorizer, authority, exchange.priority());
        toAuthorizer.set(X_FORWARDED_METHOD, exchange.record().caller().method().name());
        toAuthorizer.set(X_FORWARDED_URI, forwardedUri());
        exchange.record().writeIdentity(toAuthorizer);
    }

    // ---------------------------------------------------------------- the answer

    @Override
    public void begin(int status, HttpHeaders headers, Publisher<ByteBuf> body) {
        AuthorizationRule.Verdict verdict = AuthorizationRule.verdict(status);
        if (verdict == AuthorizationRule.Verdict.DENIES) {
            body.subscribe(new AnswerBody(true, bytes -> phase.denied(status, headers, bytes)));
            return;
        }
        // Read to its end, so that the connection stays.
        body.subscribe(new AnswerBody(false, bytes -> {}));
        decide(verdict, status, headers);
    }

    @Override
    public void answer(int status, HttpHeaders headers, ByteBuf body) {
        byte[] bytes = ByteBufUtil.getBytes(body);
        body.release();
        call().endFlushed();
        AuthorizationRule.Verdict verdict = AuthorizationRule.verdict(status);
        if (verdict == AuthorizationRule.Verdict.DENIES) {
            phase.denied(status, headers, bytes);
        } else {
            decide(verdict, status, headers);
        }
    }

    private void decide(AuthorizationRule.Verdict verdict, int status, HttpHeaders headers) {
        if (verdict == AuthorizationRule.Verdict.ALLOWS) {
            phase.allowed(headers);
        } else {
            phase.answeredUselessly(status);
        }
    }

    @Override
    public void refuse(Refusal refusal) {
        phase.failed(refusal, call().record().detail());
    }

    /** The answer breaks off. */
    @Override
    public void reset() {
        ExchangeRecord record = call().record();
        Reason reason = record.reason();
        phase.failed(
                Refusals.of(
                        new Decision.Refuse(reason == null ? Reason.CONNECTION_LOST : reason, record.detail()),
                        record,
                        exchange.resources()),
                record.detail());
    }

    @Override
    public void upgrade(
            @Nullable String subprotocol,
            HttpHeaders fromBackend,
            int maxFrameBytes,
            BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel) {
        throw new IllegalStateException("answer: an upgrade (expected: none, since it is not asked for)");
    }

    @Override
    public void trailers(HttpHeaders trailers) {}

    /**
     * Reads the body of an answer that is not complete at once.
     *
     * <p>Concurrency: buffers arrive on the event loop of the connection, the end on that of the exchange.
     */
    private final class AnswerBody implements CoreSubscriber<ByteBuf> {

        private final boolean isKept;
        private final Consumer<byte @Nullable []> whenRead;
        private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
        private long bytes;
        private boolean isTooLarge;

        /**
         * A reader.
         *
         * @param whenRead receives the body; null: it is too large
         */
        AnswerBody(boolean isKept, Consumer<byte @Nullable []> whenRead) {
            this.isKept = isKept;
            this.whenRead = whenRead;
        }

        @Override
        public void onSubscribe(Subscription s) {
            s.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(ByteBuf part) {
            bytes += part.readableBytes();
            if (bytes > MAX_BODY_BYTES) {
                if (!isTooLarge) {
                    isTooLarge = true;
                    exchange.loop().execute(this::giveUp);
                }
            } else if (isKept) {
                kept.writeBytes(ByteBufUtil.getBytes(part));
            }
            part.release();
        }

        private void giveUp() {
            call().abandon();
            whenRead.accept(null);
        }

        @Override
        public void onComplete() {
            call().endFlushed();
            whenRead.accept(isTooLarge ? null : kept.toByteArray());
        }

        /** Reported by {@link #reset}. */
        @Override
        public void onError(Throwable failure) {}
    }

    // ---------------------------------------------------------------- the caller of the exchange

    @Override
    public Channel channel() {
        return of.channel();
    }

    @Override
    public HttpHeaders headers() {
        return of.headers();
    }

    @Override
    public Priority requestedPriority() {
        return exchange.priority();
    }

    @Override
    public @Nullable String tenant(TenantKey key) {
        return of.tenant(key);
    }

    @Override
    public String scheme() {
        return of.scheme();
    }

    @Override
    public @Nullable InetAddress clientAddress() {
        return of.clientAddress();
    }

    @Override
    public String callerNetwork() {
        return of.callerNetwork();
    }

    @Override
    public @Nullable ClientCertificate clientCertificate() {
        return of.clientCertificate();
    }

    @Override
    public HttpHeaders requestTrailers() {
        return EmptyHttpHeaders.INSTANCE;
    }

    @Override
    public boolean asksForWebSocket() {
        return false;
    }

    @Override
    public String forwardedUri() {
        return of.forwardedUri();
    }

    @Override
    public void writeGatewayFields(HttpHeaders toBackend, String authority, Priority priority) {
        of.writeGatewayFields(toBackend, authority, priority);
    }

    @Override
    public int refusalBytes(Refusal refusal) {
        return 0;
    }

    @Override
    public boolean readsFailureInTrailers() {
        return false;
    }
}
