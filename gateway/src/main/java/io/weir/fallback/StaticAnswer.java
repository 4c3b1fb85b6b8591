package io.weir.fallback;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** An answer that the configuration contains: status, head and body. */
public final class StaticAnswer {

    private static final byte[] EMPTY = {};

    private final int status;
    private final String contentType;
    private final byte[] body;
    private final Map<String, String> headers;

    /**
     * An answer.
     *
     * @param contentType not sent with a status that has no body
     * @param headers further header fields
     */
    public StaticAnswer(int status, String contentType, String body, Map<String, String> headers) {
        this.status = status;
        this.contentType = contentType;
        this.body = body.getBytes(StandardCharsets.UTF_8);
        this.headers = Map.copyOf(headers);
    }

    /** The status. */
    public int status() {
        return status;
    }

    /** The head, with the length of the body that GET gets (RFC 9110, 8.6). */
    public HttpHeaders headers() {
        HttpHeaders head = new DefaultHttpHeaders();
        headers.forEach(head::set);
        if (status != HttpResponseStatus.NO_CONTENT.code() && status != HttpResponseStatus.NOT_MODIFIED.code()) {
            head.set(HttpHeaderNames.CONTENT_TYPE, contentType);
            head.setInt(HttpHeaderNames.CONTENT_LENGTH, body.length);
        }
        return head;
    }

    /**
     * The body.
     *
     * @param isHead whether the request is HEAD, so that the answer has none
     */
    public byte[] body(boolean isHead) {
        return isHead ? EMPTY : body.clone();
    }
}
