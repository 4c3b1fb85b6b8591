package io.weir.lastgood;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A route's last good answers: which are recorded, and which replaces a failure.
 *
 * <p>Thread-safe; immutable besides the store.
 */
public final class LastGood {

    private final long maxAgeNanos;
    private final int maxBytes;
    private final List<String> keyHeaders;
    private final String ignoredHeader;
    private final AnswerSpace space;
    private final LastGoodStore store;

    /**
     * The last good answers of a route.
     *
     * @param space contains the answers that the route already has
     * @param ignoredHeader a request field of the gateway's own that selects no answer, in lower case;
     *     empty: none
     */
    public LastGood(LastGoodProperties properties, AnswerSpace space, LastGoodStore store, String ignoredHeader) {
        this.maxAgeNanos = properties.maxAge().toNanos();
        this.maxBytes = Math.toIntExact(properties.maxAnswer().toBytes());
        this.keyHeaders = properties.keyHeaders();
        this.ignoredHeader = ignoredHeader;
        this.space = space;
        this.store = store;
        store.open();
    }

    /** The answers, for a successor of this object. */
    public AnswerSpace space() {
        return space;
    }

    /** Whether these properties find the same answers by the same requests. */
    public boolean hasKeyOf(LastGoodProperties properties) {
        return keyHeaders.equals(properties.keyHeaders());
    }

    /** Whether such a request can have a last good answer. */
    public static boolean covers(HttpMethod method, boolean hasBody) {
        // A body may select the answer.
        return !hasBody && (HttpMethod.GET.equals(method) || HttpMethod.HEAD.equals(method));
    }

    /**
     * Begins to record an answer; null: it is not kept.
     *
     * @param request {@linkplain #covers covered}
     */
    public @Nullable LastGoodRecording record(LastGoodRequest request, int status, HttpHeaders answer) {
        if (status != HttpResponseStatus.OK.code()
                || CacheControl.of(request.received()).has("no-store")) {
            return null;
        }
        long length = request.isHead() ? 0 : contentLength(answer);
        if (length > maxBytes || (length < 0 && !isChunked(answer))) {
            // Without a length and chunks, an answer that breaks off looks complete.
            return null;
        }
        AnswerTerms terms = AnswerTerms.of(answer, store.nowMillis());
        if (terms == null || (!terms.isPublic() && hasUnkeyedCredentials(request.received()))) {
            return null;
        }
        RequestKey key = RequestKey.of(space, request, keyHeaders, ignoredHeader);
        RequestKey ofAnswer = terms.varyNames().isEmpty() ? key : key.with(terms.varyNames(), request);
        return new LastGoodRecording(
                store, key, ofAnswer, answer, terms, usableNanos(terms), maxAgeNanos, length, maxBytes);
    }

    private static long contentLength(HttpHeaders answer) {
        String length = answer.get(HttpHeaderNames.CONTENT_LENGTH);
        try {
            return length == null ? -1 : Long.parseLong(length.strip());
        } catch (NumberFormatException e) {
            // Not even a chunked answer with such a field is kept.
            return Long.MAX_VALUE;
        }
    }

    private static boolean isChunked(HttpHeaders answer) {
        return answer.containsValue(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED, true);
    }

    /** Time from the arrival on for which the answer is of use. */
    private long usableNanos(AnswerTerms terms) {
        if (terms.usableSeconds() == AnswerTerms.UNLIMITED) {
            return maxAgeNanos;
        }
        return Math.min(maxAgeNanos, TimeUnit.SECONDS.toNanos(terms.usableSeconds() - terms.initialAgeSeconds()));
    }

    private boolean hasUnkeyedCredentials(HttpHeaders received) {
        return isUnkeyed(RequestKey.AUTHORIZATION, received) || isUnkeyed(RequestKey.COOKIE, received);
    }

    private boolean isUnkeyed(String name, HttpHeaders received) {
        return received.contains(name) && !keyHeaders.contains(name);
    }

    /**
     * The last good answer to a request; null: there is none that may be used.
     *
     * @param request {@linkplain #covers covered}
     * @param why the parameter of {@code Cache-Status} that says why the backend's answer is missing
     */
    public @Nullable LastGoodReply find(LastGoodRequest request, String why) {
        if (Preconditions.areForOrigin(request.received())) {
            return null;
        }
        RequestKey key = RequestKey.of(space, request, keyHeaders, ignoredHeader);
        StoredAnswer found = usable(store.find(key, request), request);
        if (request.isHead()) {
            StoredAnswer ofGet = usable(store.find(key.ofGet(), request), request);
            if (found == null || (ofGet != null && ofGet.receivedAtNanos() - found.receivedAtNanos() > 0)) {
                found = ofGet;
            }
        }
        return found == null ? null : LastGoodReply.of(found, request, why, store.nowNanos());
    }

    /** The answer, if it may be used for this request now. */
    private @Nullable StoredAnswer usable(@Nullable StoredAnswer answer, LastGoodRequest request) {
        if (answer == null) {
            return null;
        }
        long sinceArrival = store.nowNanos() - answer.receivedAtNanos();
        long age = answer.ageSeconds(store.nowNanos());
        boolean isInTime = sinceArrival < Math.min(maxAgeNanos, answer.usableNanos())
                && age < answer.terms().usableSeconds();
        return isInTime && (answer.terms().isPublic() || !hasUnkeyedCredentials(request.received())) ? answer : null;
    }
}
