package io.weir.management;

import java.net.URI;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpRequest;

/**
 * Whether a browser sends a request for a page of the gateway's own, and not for a stranger's that the operator happens to
 * look at. No client but a browser says where it comes from; all that do not, the token stands for.
 */
final class OwnOrigin {

    /** No name that a stranger could let point here. */
    private static final Pattern LITERAL = Pattern.compile("localhost|[0-9.]+|\\[[0-9a-fA-F:.]+]");

    private final boolean token;

    /**
     * A check.
     *
     * @param token whether there is a token. Without one, a stranger's name that has been made to point to this machine's
     *     loopback address (DNS rebinding) must not do for the gateway's own
     */
    OwnOrigin(boolean token) {
        this.token = token;
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
            return site == null || isOurs(host);
        }
        try {
            return host != null && host.equalsIgnoreCase(URI.create(origin).getRawAuthority()) && isOurs(host);
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private boolean isOurs(@Nullable String host) {
        return token
                || (host != null
                        && LITERAL.matcher(host.replaceFirst(":[0-9]*$", "")).matches());
    }
}
