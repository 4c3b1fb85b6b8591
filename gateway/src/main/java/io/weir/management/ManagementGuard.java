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
 * Stands before everything on the management port: where a token is configured, who does not carry it gets a 401.
 * Health probes are exempt, since kubelets and load balancers carry no token, and so are the files of the dashboard's page, since a
 * browser carries none to an address that is typed in. What is no read has to be of its {@linkplain OwnOrigin own origin},
 * token or not.
 *
 * <p>It also tells the operations behind it who calls, under {@link #CALLER}.
 */
final class ManagementGuard implements WebFilter, Ordered {

    /** In the Reactor context of whatever runs behind the guard: the caller's address. */
    static final String CALLER = "io.weir.management.caller";

    private static final String SCHEME = "Bearer ";

    private static final Set<String> PAGE = Set.of("/dashboard", "/dashboard/dashboard.css", "/dashboard/dashboard.js");

    private final byte @Nullable [] token;
    private final PathPattern health;
    private final OwnOrigin origins;

    /**
     * A guard of the management port.
     *
     * @param basePath where the endpoints are: {@code /actuator}
     * @param healthPath where health is under it: {@code health}
     */
    ManagementGuard(ManagementProperties properties, String basePath, String healthPath) {
        String configured = properties.token();
        this.token = configured == null ? null : configured.getBytes(StandardCharsets.UTF_8);
        this.origins = new OwnOrigin(token != null);
        this.health = PathPatternParser.defaultInstance.parse(basePath + '/' + healthPath + "/{*rest}");
    }

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        ServerHttpRequest request = exchange.getRequest();
        if (!isRead(request) && !origins.permits(request)) {
            exchange.getResponse().setStatusCode(HttpStatus.FORBIDDEN);
            return exchange.getResponse().setComplete();
        }
        if (token != null && !isHealthProbe(request) && !isPage(request) && !carries(token, request)) {
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
                // Nobody behind resolves it; should somebody ever, it must not lead past here.
                && !path.value().contains("..");
    }

    /** The page's files tell nothing, and ask for the token before they show anything. */
    private static boolean isPage(ServerHttpRequest request) {
        return isRead(request)
                && PAGE.contains(request.getPath().pathWithinApplication().value());
    }

    private static boolean isRead(ServerHttpRequest request) {
        return HttpMethod.GET.equals(request.getMethod()) || HttpMethod.HEAD.equals(request.getMethod());
    }

    private static boolean carries(byte[] token, ServerHttpRequest request) {
        String authorization = request.getHeaders().getFirst(HttpHeaders.AUTHORIZATION);
        return authorization != null
                && authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
                // Takes the same time wherever the two begin to differ.
                && MessageDigest.isEqual(
                        authorization.substring(SCHEME.length()).strip().getBytes(StandardCharsets.UTF_8), token);
    }
}
