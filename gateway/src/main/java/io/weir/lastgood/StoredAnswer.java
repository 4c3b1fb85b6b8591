package io.weir.lastgood;

import io.netty.handler.codec.http.HttpHeaders;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A complete answer with status 200. Immutable: nobody changes its head or body after it is recorded.
 *
 * @param receivedAtNanos when its head arrived
 * @param usableNanos time from then on for which it may be used
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
record StoredAnswer(HttpHeaders head, byte[] body, AnswerTerms terms, long receivedAtNanos, long usableNanos)
        implements StoredEntry {

    private static final int BYTES_PER_ANSWER = 256;
    private static final int BYTES_PER_FIELD = 96;

    /** The answer's age (RFC 9111, 4.2.3). */
    long ageSeconds(long nowNanos) {
        return terms.initialAgeSeconds() + TimeUnit.NANOSECONDS.toSeconds(Math.max(0, nowNanos - receivedAtNanos));
    }

    @Override
    public int bytes() {
        int bytes = BYTES_PER_ANSWER + body.length;
        for (Map.Entry<String, String> field : head) {
            bytes +=
                    BYTES_PER_FIELD + field.getKey().length() + field.getValue().length();
        }
        return bytes;
    }

    /** Whether the request's validators say that its caller has this answer already. */
    boolean isUnmodifiedFor(HttpHeaders request) {
        return Preconditions.isUnmodified(request, head);
    }
}
