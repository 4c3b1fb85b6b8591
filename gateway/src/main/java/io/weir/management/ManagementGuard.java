package io.weir.management;

import io.weir.management.ManagementTokens.Holder;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
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
 *   <li>A request for a host that is {@linkplain AllowedHosts not allowed} gets a 421; one without a host, a
 *       400. A health probe needs none: load balancers probe with HTTP/1.0, and no browser does.
 *   <li>A request that is not a read must pass the {@linkplain SameOriginCheck check of its origin}, with or
 *       without a token; otherwise it gets a 403.
 *   <li>If a token is configured, a request without one gets a 401. Health probes are exempt, since kubelets
 *       and load balancers send no token. The files of the dashboard page are exempt, since a browser sends
 *       no token for an address that a user has typed.
 *   <li>If a token is configured, a request that is not a read gets a 403 with a read-only token.
 * </ul>
 *
 * <p>The guard puts the caller into the Reactor context, under {@link #CALLER}: the name of the token's
 * holder, if there is one, the address, and whether another gateway has passed the request on.
 */
final class ManagementGuard implements WebFilter, Ordered {

    /** The key of the caller in the Reactor context. */
    static final String CALLER = "io.weir.management.caller";

    private static final String REALM = "Bearer realm=\"weir management\"";

    private static final Set<String> PAGE_PATHS = Set.of(
            "/dashboard",
            "/dashboard/dashboard.css",
            "/dashboard/dashboard.js",
            "/dashboard/elements.js",
            "/dashboard/limit.js",
            "/dashboard/card.js",
            "/dashboard/fleet.js",
            "/dashboard/table.js");

    private final ManagementTokens tokens;
    private final AllowedHosts hosts;
    private final PathPattern health;

    /**
     * A guard of the management port.
     *
     * @param basePath the base path of the endpoints, such as {@code /actuator}
     * @param healthPath the path of the health endpoint below it, such as {@code health}
     */
    ManagementGuard(ManagementProperties properties, String basePath, String healthPath) {
        this.tokens = new ManagementTokens(properties);
        this.hosts = new AllowedHosts(properties.allowedHosts());
        this.health = PathPatternParser.defaultInstance.parse(basePath + '/' + healthPath + "/{*rest}");
    }

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        ServerHttpRequest request = exchange.getRequest();
        HttpHeaders headers = request.getHeaders();
        List<String> named = headers.getOrEmpty(HttpHeaders.HOST);
        if (named.isEmpty() && !isHealthProbe(request)) {
            return refuse(exchange, HttpStatus.BAD_REQUEST, "Host: missing (expected: one)");
        }
        if (!named.isEmpty() && !hosts.permit(named)) {
            return refuse(
                    exchange,
                    HttpStatus.MISDIRECTED_REQUEST,
                    "Host: not allowed (expected: an IP address, localhost, or one of weir.management.allowed-hosts)");
        }
        if (!isRead(request) && !SameOriginCheck.permits(request)) {
            return refuse(exchange, HttpStatus.FORBIDDEN, "Origin: another site (expected: the page of this gateway)");
        }
        Holder holder = tokens.holderOf(headers.getFirst(HttpHeaders.AUTHORIZATION));
        if (!tokens.isEmpty()) {
            if (holder == null && !isHealthProbe(request) && !isPage(request)) {
                exchange.getResponse().getHeaders().set(HttpHeaders.WWW_AUTHENTICATE, REALM);
                exchange.getResponse().setStatusCode(HttpStatus.UNAUTHORIZED);
                return exchange.getResponse().setComplete();
            }
            if (!isRead(request) && (holder == null || !holder.mayChange())) {
                exchange.getResponse()
                        .getHeaders()
                        .set(HttpHeaders.WWW_AUTHENTICATE, REALM + ", error=\"insufficient_scope\"");
                return refuse(
                        exchange, HttpStatus.FORBIDDEN, "token: read-only (expected: a token that permits changes)");
            }
        }
        boolean isPassedOn = headers.containsHeader(ManagementCaller.PASSED_ON_BY);
        String caller = caller(request.getRemoteAddress(), isPassedOn, holder);
        return chain.filter(exchange).contextWrite(context -> context.put(CALLER, caller));
    }

    /** Answers in the form of the endpoints' own refusals. The texts are constant, and need no escape. */
    private static Mono<Void> refuse(ServerWebExchange exchange, HttpStatus status, String detail) {
        ServerHttpResponse response = exchange.getResponse();
        response.setStatusCode(status);
        response.getHeaders().setContentType(MediaType.APPLICATION_JSON);
        String body = "{\"status\":" + status.value() + ",\"detail\":\"" + detail + "\"}";
        return response.writeWith(Mono.just(response.bufferFactory().wrap(body.getBytes(StandardCharsets.UTF_8))));
    }

    private static String caller(@Nullable InetSocketAddress address, boolean isPassedOn, @Nullable Holder holder) {
        String from = (address == null ? "an unknown address" : address.getHostString() + ':' + address.getPort())
                + (isPassedOn ? ", passed on by a gateway" : "");
        return holder == null ? from : holder.name() + " (" + from + ')';
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
}
