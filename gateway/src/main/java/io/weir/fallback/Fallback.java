package io.weir.fallback;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.Set;

/** A route's fallback: when it is given, its limit, and its static answer if it has one. */
public final class Fallback {

    private final FallbackProperties properties;
    private final Set<Reason> reasons;
    private final QueueingBulkhead limit;
    private final byte[] body;

    /** The fallback of a route. */
    public Fallback(FallbackProperties properties) {
        this(properties, new QueueingBulkhead(properties.maxConcurrentCalls(), 0));
    }

    /**
     * The fallback of a route that had one before.
     *
     * @param limit the limit of that one, with the permits that are out
     */
    public Fallback(FallbackProperties properties, QueueingBulkhead limit) {
        this.properties = properties;
        this.reasons =
                properties.reasons().isEmpty() ? EnumSet.noneOf(Reason.class) : EnumSet.copyOf(properties.reasons());
        this.limit = limit;
        this.body = properties.body().getBytes(StandardCharsets.UTF_8);
    }

    /** Whether it is given in place of a refusal with this reason. */
    public boolean covers(Reason reason) {
        return reasons.contains(reason);
    }

    /** Whether it is a static answer, and not another backend's. */
    public boolean isStatic() {
        return properties.backend() == null;
    }

    /** Its limit; who acquires it releases it when the exchange is over. */
    public QueueingBulkhead limit() {
        return limit;
    }

    /** The static answer's status. */
    public int status() {
        return properties.status();
    }

    /** The static answer's head. */
    public HttpHeaders headers() {
        HttpHeaders headers = new DefaultHttpHeaders();
        properties.headers().forEach(headers::set);
        headers.set(HttpHeaderNames.CONTENT_TYPE, properties.contentType());
        headers.setInt(HttpHeaderNames.CONTENT_LENGTH, body.length);
        return headers;
    }

    /** The static answer's body. */
    public byte[] body() {
        return body.clone();
    }
}
