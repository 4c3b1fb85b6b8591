package io.weir.fleet;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpRequest;

/**
 * An operator's request, as it is passed on to other gateways.
 *
 * @param method the method
 * @param path the encoded path, without a query
 * @param authorization the operator's token, with its scheme; null: none
 * @param contentType the type of the body; null: none
 * @param body the body; empty: none
 * @param timeout the time for each gateway's whole answer
 */
record PeerRequest(
        String method,
        String path,
        @Nullable String authorization,
        @Nullable String contentType,
        String body,
        Duration timeout) {

    static PeerRequest of(ServerHttpRequest request, String body, Duration timeout) {
        HttpHeaders headers = request.getHeaders();
        return new PeerRequest(
                request.getMethod().name(),
                request.getURI().getRawPath(),
                headers.getFirst(HttpHeaders.AUTHORIZATION),
                headers.getFirst(HttpHeaders.CONTENT_TYPE),
                body,
                timeout);
    }

    /** Method and path; never the token. */
    @Override
    public String toString() {
        return method + ' ' + path;
    }
}
