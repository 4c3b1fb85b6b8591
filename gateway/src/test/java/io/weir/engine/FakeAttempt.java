package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.health.Breaker.Permission;
import io.weir.outcome.Reason;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/** An attempt without a network: a test says what its backend does. Once it is cancelled or complete, that is nothing, as with the real ones. */
final class FakeAttempt extends Attempt {

    static final String BODY = "fine";

    boolean connected;
    boolean waitsForUpload;
    boolean isHeldUp;
    int cancelled;

    @Nullable
    Reason brokenOffFor;

    /** Why it cannot even begin. */
    @Nullable
    RuntimeException unable;

    private final long startedAt;
    private long movedAt = Long.MIN_VALUE;
    private boolean isAggregating;
    private boolean headCame;
    private boolean complete;
    private long bytes;

    FakeAttempt(Exchange exchange, Admission admission, Permission permission, long now) {
        super(exchange, admission, permission, now);
        this.startedAt = now;
    }

    /** There is a connection. */
    FakeAttempt connects() {
        connected = true;
        return this;
    }

    /** There is a connection, and all the time is the caller's, who brings the request's body. */
    FakeAttempt waitsForBody() {
        waitsForUpload = true;
        movedAt = startedAt;
        return connects();
    }

    /** A head whose body is awaited whole. */
    FakeAttempt beginsSmallAnswer(int status) {
        return begins(status, new DefaultHttpHeaders().setInt(HttpHeaderNames.CONTENT_LENGTH, BODY.length()));
    }

    /** A head whose body is passed on as it comes. */
    FakeAttempt begins(int status) {
        return begins(status, new DefaultHttpHeaders());
    }

    FakeAttempt begins(int status, HttpHeaders head) {
        if (cancelled == 0) {
            connects();
            headCame = true;
            headReceived(status, head);
        }
        return this;
    }

    FakeAttempt opensTunnel() {
        connects();
        headCame = true;
        tunnelOpened(null, (fromCaller, toCaller) -> Mono.never());
        return this;
    }

    /** Something comes in. */
    void brings(int more, long now) {
        bytes += more;
        movedAt = now;
    }

    /** The rest of the answer, or all of it. */
    void answers() {
        answers(EmptyHttpHeaders.INSTANCE);
    }

    void answers(HttpHeaders trailers) {
        if (!headCame) {
            beginsSmallAnswer(200);
        }
        if (isOver()) {
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

    /** Its connection fails. */
    void fails() {
        if (isOver()) {
            return;
        }
        if (headCame && !isAggregating) {
            answerBroken(new IOException("reset"));
        } else {
            failed(connected ? new IOException("reset") : new ConnectException("refused"));
        }
    }

    /** What carries the request's body fails: possibly after the answer is complete. */
    void losesUpload(Throwable failure) {
        if (cancelled == 0) {
            uploadFailed(failure);
        }
    }

    private boolean isOver() {
        return cancelled > 0 || complete || (headCame && exchange.isWebSocket());
    }

    @Override
    void start() {
        if (unable != null) {
            throw unable;
        }
    }

    @Override
    void aggregate(int maxBytes) {
        isAggregating = true;
    }

    @Override
    Publisher<ByteBuf> relay() {
        return Mono.never();
    }

    @Override
    public boolean closesCallerSide(Reason why) {
        brokenOffFor = why;
        return exchange.isWebSocket();
    }

    @Override
    void cancel() {
        cancelled++;
    }

    @Override
    boolean isConnected() {
        return connected;
    }

    @Override
    boolean withdraw() {
        return !connected;
    }

    @Override
    long callerNanos(long now) {
        return (waitsForUpload ? now - startedAt : 0) + (isHeldUp ? now - startedAt : 0);
    }

    @Override
    boolean isWaitingForUpload() {
        return waitsForUpload;
    }

    @Override
    long lastMovedNanos() {
        return movedAt;
    }

    @Override
    long answerBytes() {
        return bytes;
    }

    @Override
    boolean isHeldUpByCaller() {
        return isHeldUp;
    }
}
