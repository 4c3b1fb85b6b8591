package io.weir.lastgood;

import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.AsciiString;

/**
 * A last good answer for one caller.
 *
 * @param status 200, or 304 if the caller has the answer already
 * @param headers the caller's own copy
 * @param body never to be changed; empty for HEAD and 304
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
public record LastGoodReply(int status, HttpHeaders headers, byte[] body, long ageSeconds) {

    private static final byte[] EMPTY = {};
    private static final AsciiString CACHE_STATUS = AsciiString.cached("cache-status");

    /** Fields that describe a body, which a 304 has not (RFC 9110, 15.4.5). */
    private static final AsciiString[] OF_THE_BODY = {
        HttpHeaderNames.CONTENT_ENCODING,
        HttpHeaderNames.CONTENT_LANGUAGE,
        HttpHeaderNames.CONTENT_LENGTH,
        HttpHeaderNames.CONTENT_TYPE,
    };

    /**
     * The reply with a stored answer.
     *
     * @param why the parameter of {@code Cache-Status} that says why the backend's answer is missing
     */
    static LastGoodReply of(StoredAnswer answer, LastGoodRequest request, String why, long nowNanos) {
        long age = answer.ageSeconds(nowNanos);
        HttpHeaders headers = DefaultHttpHeadersFactory.headersFactory()
                .withValidation(false)
                .newHeaders()
                .set(answer.head())
                .set(HttpHeaderNames.AGE, Long.toString(age))
                .add(CACHE_STATUS, "weir; hit; fwd=stale; " + why);
        if (answer.isUnmodifiedFor(request.received())) {
            for (AsciiString name : OF_THE_BODY) {
                headers.remove(name);
            }
            return new LastGoodReply(HttpResponseStatus.NOT_MODIFIED.code(), headers, EMPTY, age);
        }
        return new LastGoodReply(HttpResponseStatus.OK.code(), headers, request.isHead() ? EMPTY : answer.body(), age);
    }
}
