package io.weir.lastgood;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;

/**
 * An answer that is recorded while it goes to its caller. Only {@link #complete} keeps it, which follows the
 * last byte of a known length: an answer that is too large, breaks off, or whose caller leaves before its
 * end, is dropped.
 *
 * <p>Concurrency: {@link #add} and {@link #complete} come from the event loop of the backend's connection,
 * in order; {@link #drop} may come from any thread. The thread that sets {@code reserved} to {@link #ENDED}
 * passes the reserved memory on, or gives it back.
 */
public final class LastGoodRecording {

    private static final long ENDED = -1;
    private static final int FIRST_BYTES = 4096;
    private static final byte[] EMPTY = {};
    /** RFC 9110, 5.6.7: two digits for the day. */
    private static final DateTimeFormatter HTTP_DATE = DateTimeFormatter.ofPattern(
                    "EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US)
            .withZone(ZoneOffset.UTC);

    private final LastGoodStore store;
    private final RequestKey key;
    private final RequestKey ofAnswer;
    private final HttpHeaders head;
    private final AnswerTerms terms;
    private final long receivedAt;
    private final long usableNanos;
    private final long maxAgeNanos;
    private final long begunAt;
    /** The length that the answer must have; negative: unknown. */
    private final long length;

    private final int maxBytes;
    private final AtomicLong reserved = new AtomicLong();
    private byte[] body = EMPTY;
    private int bytes;

    /**
     * A recording without a part of the body.
     *
     * @param key of the request, without the values of fields that {@code Vary} names
     * @param ofAnswer of the answer, with these values if there are any
     */
    LastGoodRecording(
            LastGoodStore store,
            RequestKey key,
            RequestKey ofAnswer,
            HttpHeaders answer,
            AnswerTerms terms,
            long usableNanos,
            long maxAgeNanos,
            long length,
            int maxBytes) {
        this.store = store;
        this.key = key;
        this.ofAnswer = ofAnswer;
        // A copy: a door may change the fields of the answer that it passes on.
        this.head = DefaultHttpHeadersFactory.headersFactory()
                .withValidation(false)
                .newHeaders()
                .set(answer);
        this.terms = terms;
        this.usableNanos = usableNanos;
        this.maxAgeNanos = maxAgeNanos;
        this.length = length;
        this.maxBytes = maxBytes;
        this.receivedAt = store.nowNanos();
        this.begunAt = store.emptied();
    }

    /** Copies a part of the body, which stays the caller's. */
    public void add(ByteBuf part) {
        int added = part.readableBytes();
        if (added == 0 || reserved.get() == ENDED) {
            return;
        }
        if (added > maxBytes - bytes || (length >= 0 && added > length - bytes) || !grow(bytes + added)) {
            drop();
            return;
        }
        part.getBytes(part.readerIndex(), body, bytes, added);
        bytes += added;
        if (isWhole()) {
            // A caller may close its connection after the last byte, before the end of the answer is seen.
            complete();
        }
    }

    /** Whether the answer has all bytes of its {@code Content-Length}. */
    public boolean isWhole() {
        return bytes == length;
    }

    /** Makes room for so many bytes; false: the store has no memory, or the recording has ended. */
    private boolean grow(int needed) {
        if (needed <= body.length) {
            return true;
        }
        int room = (int) (length >= 0 ? length : Math.min(maxBytes, Math.max(FIRST_BYTES, 2L * needed)));
        int more = room - body.length;
        if (!store.reserve(more)) {
            return false;
        }
        long before = reserved.getAndUpdate(now -> now == ENDED ? ENDED : now + more);
        if (before == ENDED) {
            store.giveBack(more);
            return false;
        }
        body = Arrays.copyOf(body, room);
        return true;
    }

    /** The answer is complete and without trailers: keeps it. */
    public void complete() {
        if (length >= 0 && bytes != length) {
            drop();
            return;
        }
        long taken = reserved.getAndSet(ENDED);
        if (taken == ENDED) {
            return;
        }
        if (!key.isHead()) {
            head.remove(HttpHeaderNames.TRANSFER_ENCODING).setInt(HttpHeaderNames.CONTENT_LENGTH, bytes);
        }
        if (!head.contains(HttpHeaderNames.DATE)) {
            head.set(HttpHeaderNames.DATE, HTTP_DATE.format(Instant.ofEpochMilli(store.nowMillis())));
        }
        byte[] whole = bytes == body.length ? body : Arrays.copyOf(body, bytes);
        StoredAnswer answer = new StoredAnswer(head, whole, terms, receivedAt, usableNanos);
        StoredEntry first = ofAnswer.equals(key)
                ? answer
                : new StoredEntry.VaryNames(terms.varyNames().stream().toList(), receivedAt, maxAgeNanos);
        store.put(key, first, ofAnswer, answer, taken, begunAt);
    }

    /** Forgets the answer. */
    public void drop() {
        long taken = reserved.getAndSet(ENDED);
        if (taken != ENDED) {
            store.giveBack(taken);
        }
    }
}
