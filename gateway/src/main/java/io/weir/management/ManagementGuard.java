package io.weir.management;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import reactor.core.publisher.Mono;

/**
 * Guards every request to the management port.
 *
 * <ul>
 *   <li>If a token is configured, a request without it gets a 401. Health probes are exempt, since kubelets
 *       and load balancers send no token. The files of the dashboard page are exempt, since a browser sends
 *       no token for an address that a user has typed.
 *   <li>A request that is not a read must pass the {@linkplain SameOriginCheck check of its origin}, with or
 *       without a token; otherwise it gets a 403.
 * </ul>
 *
 * <p>The guard puts the caller's address into the Reactor context, under {@link #CALLER}.
 */
final class ManagementGuard implements WebFilter, Ordered {

    /** The key of the caller's address in the Reactor context. */
    static final String CALLER = "io.weir.management.caller";

    private static final String SCHEME = "Bearer ";

    private static final Set<String> PAGE_PATHS =
            Set.of("/dashboard", "/dashboard/dashboard.css", "/dashboard/dashboard.js");

    private final byte @Nullable [] token;
    private final PathPattern health;
    private final SameOriginCheck originCheck;

    /**
     * A guard of the management port.
     *
     * @param basePath the base path of the endpoints, such as {@code /actuator}
     * @param healthPath the path of the health endpoint below it, such as {@code health}
     */
    ManagementGuard(ManagementProperties properties, String basePath, String healthPath) {
        String configured = properties.token();
        this.token = configured == null ? null : configured.getBytes(StandardCharsets.UTF_8);
        this.originCheck = new SameOriginCheck(token != null);
        this.health = PathPatternParser.defaultInstance.parse(basePath + '/' + healthPath + "/{*rest}");
    }

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        ServerHttpRequest request = exchange.getRequest();
        if (!isRead(request) && !originCheck.permits(request)) {
            exchange.getResponse().setStatusCode(HttpStatus.FORBIDDEN);
            return exchange.getResponse().setComplete();
        }
        if (token != null && !isHealthProbe(request) && !isPage(request) && !hasToken(request, token)) {
            ServerHttpResponse response = exchange.getResponse();
            response.setStatusCode(HttpStatus.UNAUTHORIZED);
            response.getHeaders().set(HttpHeaders.WWW_AUTHENTICATE, "Bearer realm=\"weir management\"");
            return response.setComplete();
        }
        InetSocketAddress address = request.getRemoteAddress();
        String caller = address == null ? "an unknown caller" : address.getHostString() + ':' + address.getPort();
        return chain.filter(exchange).contextWrite(context -> context.put(CALLER, caller));
    }

    private boolean isHealthProbe(ServerHttpRequest request) {
        PathContainer path = request.getPath().pathWithinApplication();
        return isRead(request)
                && health.matches(path)
                // No handler behind the guard resolves dot segments today, but the guard must not depend on
                // that.
                && !path.value().contains("..");
    }

    /** The page's files hold no data; the page asks for the token before it shows any. */
    private static boolean isPage(ServerHttpRequest request) {
        return isRead(request)
                && PAGE_PATHS.contains(request.getPath().pathWithinApplication().value());
    }

    private static boolean isRead(ServerHttpRequest request) {
        return HttpMethod.GET.equals(request.getMethod()) || HttpMethod.HEAD.equals(request.getMethod());
    }

    private static boolean hasToken(ServerHttpRequest request, byte[] token) {
        String authorization = request.getHeaders().getFirst(HttpHeaders.AUTHORIZATION);
        return authorization != null
                && authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
                // Takes the same time wherever the two values differ.
                && MessageDigest.isEqual(
                        authorization.substring(SCHEME.length()).strip().getBytes(StandardCharsets.UTF_8), token);
    }
}
