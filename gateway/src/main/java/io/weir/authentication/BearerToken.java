package io.weir.authentication;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/** Reads the bearer token of a request from its {@code Authorization} field (RFC 6750, section 2.1). */
final class BearerToken {

    /** In place of a token, if the field is repeated: gateway and backend could read different tokens. */
    static final String REPEATED = "";

    private static final String SCHEME = "Bearer ";

    private BearerToken() {}

    /**
     * The token; null: the request has none, or uses another scheme; {@link #REPEATED}: the field is
     * repeated. A token in the query or in the body does not count: logs would keep it.
     */
    static @Nullable String of(HttpHeaders head) {
        Iterator<String> values = head.valueStringIterator(HttpHeaderNames.AUTHORIZATION);
        if (!values.hasNext()) {
            return null;
        }
        String value = values.next();
        if (values.hasNext()) {
            return REPEATED;
        }
        if (!value.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
            return null;
        }
        String token = value.substring(SCHEME.length()).strip();
        return token.isEmpty() ? null : token;
    }
}
