package io.weir.management;

import java.net.URI;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpRequest;

/**
 * Protects against cross-site request forgery: a browser's request must come from a page of this gateway, not
 * from another site that the operator has open. {@link AllowedHosts} has checked the field {@code Host}
 * before.
 *
 * <p>Only browsers send {@code Sec-Fetch-Site} and {@code Origin}. A request without both passes; the token
 * protects against other clients.
 */
final class SameOriginCheck {

    private SameOriginCheck() {}

    static boolean permits(ServerHttpRequest request) {
        HttpHeaders headers = request.getHeaders();
        return permits(
                headers.getFirst("Sec-Fetch-Site"),
                headers.getFirst(HttpHeaders.ORIGIN),
                headers.getFirst(HttpHeaders.HOST));
    }

    static boolean permits(@Nullable String site, @Nullable String origin, @Nullable String host) {
        if (site != null && !site.equals("same-origin") && !site.equals("none")) {
            return false;
        }
        if (origin == null) {
            return true;
        }
        try {
            return host != null && host.equalsIgnoreCase(URI.create(origin).getRawAuthority());
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
