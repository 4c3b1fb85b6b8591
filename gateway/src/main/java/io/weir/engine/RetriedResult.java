package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.engine.Decision.Answer;
import io.weir.engine.Decision.Refuse;

/**
 * The result of an attempt that is retried. The caller gets it if no further attempt starts, because there is
 * no permit, the breaker has opened, or the time is used up.
 */
sealed interface RetriedResult {

    /** The largest body that is kept. Each retry that waits holds at most this size. */
    int MAX_KEPT_BYTES = 8192;

    /** The attempt failed: the caller gets this refusal. */
    record Failed(Refuse refuse) implements RetriedResult {}

    /**
     * The backend answered.
     *
     * @param body a copy: the backend's buffers are returned
     */
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    record Answered(int status, HttpHeaders headers, byte[] body) implements RetriedResult {

        Answer answer() {
            return new Answer(status, headers, body, false);
        }
    }

    /** The answer is not kept: the caller gets the refusal that ends the retry. */
    enum Lost implements RetriedResult {
        LOST
    }

    /**
     * The result of a complete answer. An answer with trailers, or with too large a body, is not kept.
     *
     * @param head the head of the answer
     * @param hasNoBody whether the answer belongs to a HEAD request: the head describes another body
     */
    static RetriedResult of(int status, HttpHeaders head, ByteBuf body, HttpHeaders trailers, boolean hasNoBody) {
        int bytes = body.readableBytes();
        if (bytes > MAX_KEPT_BYTES || !trailers.isEmpty()) {
            return Lost.LOST;
        }
        HttpHeaders headers = new DefaultHttpHeaders().set(head);
        if (!hasNoBody) {
            headers.remove(HttpHeaderNames.TRANSFER_ENCODING).setInt(HttpHeaderNames.CONTENT_LENGTH, bytes);
        }
        return new Answered(status, headers, ByteBufUtil.getBytes(body));
    }

    /** The refusal that the caller gets if no answer is kept. */
    default Refuse insteadOf(Refuse ending) {
        return this instanceof Failed failed ? failed.refuse() : ending;
    }
}
