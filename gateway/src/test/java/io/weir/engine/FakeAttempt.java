package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.outcome.Reason;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;

/**
 * An attempt without a network: the test triggers the events of the backend. After a cancellation or a
 * complete answer there are no more events, as with real attempts.
 */
final class FakeAttempt extends Attempt {

    static final String BODY = "fine";

    boolean isConnected;
    boolean isWaitingForUpload;
    boolean isHeldUp;
    int cancelled;
    /** Runs at each cancellation. */
    Runnable onCancel = () -> {};

    final SentBody sent = new SentBody();

    /** Thrown by {@link #start}; null: the attempt starts. */
    @Nullable
    RuntimeException startFailure;

    /** How often the attempt has been started. */
    int starts;

    /** Nothing of the request is sent any more, so there is no answer. */
    private boolean isWithdrawn;

    private final long startedAt;
    private long heldUpSince;
    private long uploadNanos;
    private long movedAt = Long.MIN_VALUE;
    private boolean isAggregating;
    private boolean isDraining;
    private boolean headArrived;
    private boolean isTunnelOpen;
    private boolean complete;
    private long bytes;

    FakeAttempt(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
        super(exchange, admission, evidence, now);
        this.startedAt = now;
        this.heldUpSince = now;
    }

    /** The connection is established. */
    FakeAttempt connects() {
        isConnected = true;
        return this;
    }

    /** The connection is established, and the gateway waits for the caller to send its body. */
    FakeAttempt waitsForBody() {
        isWaitingForUpload = true;
        movedAt = startedAt;
        return connects();
    }

    /** The gateway waits for the body no more. The time for which it has waited stays. */
    FakeAttempt hasBody(long now) {
        uploadNanos = callerNanos(now);
        isWaitingForUpload = false;
        return this;
    }

    /** The request is sent, with as much of its body as the backend takes. */
    FakeAttempt sendsBody(long parts) {
        connects();
        RequestBody body = exchange.body();
        if (body == null) {
            throw new IllegalStateException("the request has no body");
        }
        body.subscribe(sent);
        sent.request(parts);
        return this;
    }

    /** The head of an answer that is aggregated. */
    FakeAttempt beginsSmallAnswer(int status) {
        return begins(status, new DefaultHttpHeaders().setInt(HttpHeaderNames.CONTENT_LENGTH, BODY.length()));
    }

    /** The head of an answer that passes on as it arrives. */
    FakeAttempt begins(int status) {
        return begins(status, new DefaultHttpHeaders());
    }

    FakeAttempt begins(int status, HttpHeaders head) {
        if (cancelled == 0 && !isWithdrawn) {
            connects();
            headArrived = true;
            headReceived(status, head);
        }
        return this;
    }

    FakeAttempt opensTunnel() {
        if (cancelled > 0 || headArrived) {
            return this;
        }
        connects();
        headArrived = true;
        isTunnelOpen = true;
        WebSocketAttempt.opened(this, null, EmptyHttpHeaders.INSTANCE, (fromCaller, toCaller) -> Mono.never());
        return this;
    }

    /** From now on, the caller holds up the answer. */
    FakeAttempt isHeldUpFrom(long now) {
        isHeldUp = true;
        heldUpSince = now;
        return this;
    }

    /** Bytes of the body move. */
    void moves(int more, long now) {
        bytes += more;
        movedAt = now;
    }

    /** The answer, or the rest of it, arrives. */
    void answers() {
        answers(EmptyHttpHeaders.INSTANCE);
    }

    void answers(HttpHeaders trailers) {
        if (!headArrived) {
            beginsSmallAnswer(200);
        }
        if (hasEnded()) {
            return;
        }
        complete = true;
        if (isAggregating) {
            bytes = BODY.length();
            aggregated(Unpooled.copiedBuffer(BODY, StandardCharsets.UTF_8), trailers);
        } else {
            complete(trailers);
        }
    }

    /** The connection fails. */
    void fails() {
        if (hasEnded()) {
            return;
        }
        if (headArrived && !isAggregating) {
            answerBroken(new IOException("reset"));
        } else {
            failsWith(isConnected ? new IOException("reset") : new ConnectException("refused"));
        }
    }

    /** The attempt fails before the caller has received anything. */
    void failsWith(Throwable failure) {
        failed(failure);
    }

    /** Whether the attempt reads an answer that is retried. */
    boolean isDraining() {
        return isDraining;
    }

    /** The upload fails, possibly after the answer is complete. */
    void losesUpload(Throwable failure) {
        if (cancelled == 0) {
            uploadFailed(failure);
        }
    }

    private boolean hasEnded() {
        return cancelled > 0 || isWithdrawn || complete || isTunnelOpen;
    }

    @Override
    public void start() {
        starts++;
        if (startFailure != null) {
            throw startFailure;
        }
    }

    @Override
    public void aggregate(int maxBytes, boolean failsIfLarger) {
        isAggregating = true;
        isDraining = failsIfLarger;
    }

    @Override
    public Publisher<ByteBuf> relay() {
        return Mono.never();
    }

    @Override
    public boolean closesCallerSide(Reason why) {
        return isTunnelOpen;
    }

    @Override
    public void cancel() {
        cancelled++;
        onCancel.run();
        sent.cancel();
    }

    @Override
    public boolean isConnected() {
        return isConnected;
    }

    @Override
    public boolean withdraw() {
        isWithdrawn |= !isConnected;
        return isWithdrawn;
    }

    @Override
    public long callerNanos(long now) {
        return uploadNanos + (isWaitingForUpload ? now - startedAt : 0) + (isHeldUp ? now - heldUpSince : 0);
    }

    @Override
    public boolean isWaitingForUpload() {
        return isWaitingForUpload;
    }

    @Override
    public long lastMovedNanos() {
        return movedAt;
    }

    @Override
    public long answerBytes() {
        return bytes;
    }

    @Override
    public boolean isHeldUpByCaller() {
        return isHeldUp;
    }

    /** The request's body as the backend receives it. */
    static final class SentBody extends BaseSubscriber<ByteBuf> {

        final StringBuilder bytes = new StringBuilder();
        boolean isComplete;

        @Nullable
        Throwable failure;

        @Override
        protected void hookOnSubscribe(Subscription s) {}

        @Override
        protected void hookOnNext(ByteBuf part) {
            bytes.append(part.toString(StandardCharsets.UTF_8));
        }

        @Override
        protected void hookOnComplete() {
            isComplete = true;
        }

        @Override
        protected void hookOnError(Throwable why) {
            failure = why;
            isComplete = true;
        }
    }
}
