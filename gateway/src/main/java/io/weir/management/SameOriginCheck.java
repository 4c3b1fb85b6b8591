package io.weir.management;

import java.net.URI;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpRequest;

/**
 * Protects against cross-site request forgery: a browser's request must come from a page of this gateway, not
 * from another site that the operator has open.
 *
 * <p>Only browsers send {@code Sec-Fetch-Site} and {@code Origin}. A request without both passes; the token
 * protects against other clients.
 */
final class SameOriginCheck {

    /** Hosts that are no DNS name, so that no attacker can point one to this machine. */
    private static final Pattern IP_OR_LOCALHOST = Pattern.compile("localhost|[0-9.]+|\\[[0-9a-fA-F:.]+]");

    private final boolean hasToken;

    /**
     * A check.
     *
     * @param hasToken whether a token is configured. Without one, a host name is not accepted as the
     *     gateway's own, since an attacker can point a name to the loopback address (DNS rebinding)
     */
    SameOriginCheck(boolean hasToken) {
        this.hasToken = hasToken;
    }

    boolean permits(ServerHttpRequest request) {
        HttpHeaders headers = request.getHeaders();
        return permits(
                headers.getFirst("Sec-Fetch-Site"),
                headers.getFirst(HttpHeaders.ORIGIN),
                headers.getFirst(HttpHeaders.HOST));
    }

    boolean permits(@Nullable String site, @Nullable String origin, @Nullable String host) {
        if (site != null && !site.equals("same-origin") && !site.equals("none")) {
            return false;
        }
        if (origin == null) {
            return site == null || isOwnHost(host);
        }
        try {
            return host != null && host.equalsIgnoreCase(URI.create(origin).getRawAuthority()) && isOwnHost(host);
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private boolean isOwnHost(@Nullable String host) {
        return hasToken
                || (host != null
                        && IP_OR_LOCALHOST
                                .matcher(host.replaceFirst(":[0-9]*$", ""))
                                .matches());
    }
}
