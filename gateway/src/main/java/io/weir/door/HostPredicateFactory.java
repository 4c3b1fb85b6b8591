package io.weir.door;

import io.weir.edge.Authority;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.handler.predicate.GatewayPredicate;
import org.springframework.cloud.gateway.handler.predicate.HostRoutePredicateFactory;
import org.springframework.cloud.gateway.support.ServerWebExchangeUtils;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.util.AntPathMatcher;
import org.springframework.web.server.ServerWebExchange;

/**
 * Spring Cloud Gateway's predicate Host, for both doors, with hosts compared as RFC 9110, 4.2.3 says: in any
 * case. A pattern without a port matches the host with any port, since the port is that of a listener or of a
 * balancer in front of it, and not a part of the site's name; one with a port matches the host as sent. The
 * check refuses patterns with capital letters.
 *
 * <p>Only this comparison changes the host. Other predicates, filters and backends see {@code Host} as the
 * caller has sent it: signatures may cover it.
 */
public final class HostPredicateFactory extends HostRoutePredicateFactory {

    private final boolean includesPort;
    private final AntPathMatcher matcher = new AntPathMatcher(".");

    private record HostMatch(String pattern, String host) {}

    /**
     * Creates the factory.
     *
     * @param includesPort {@code spring.cloud.gateway.server.webflux.predicate.host.include-port}
     */
    public HostPredicateFactory(boolean includesPort) {
        super(includesPort);
        this.includesPort = includesPort;
    }

    /** The name is not derived from that of this class. */
    @Override
    public String name() {
        return "Host";
    }

    /** The predicate of a compiled route. Its patterns have no variables. */
    Predicate<ServerHttpRequest> compiled(List<String> patterns) {
        return request -> match(patterns, request) != null;
    }

    @Override
    public Predicate<ServerWebExchange> apply(Config config) {
        return new GatewayPredicate() {
            @Override
            public boolean test(ServerWebExchange exchange) {
                HostMatch match = match(config.getPatterns(), exchange.getRequest());
                if (match == null) {
                    return false;
                }
                ServerWebExchangeUtils.putUriTemplateVariables(
                        exchange, matcher.extractUriTemplateVariables(match.pattern, match.host));
                return true;
            }

            @Override
            public Object getConfig() {
                return config;
            }

            @Override
            public String toString() {
                return "Hosts: " + config.getPatterns();
            }
        };
    }

    private @Nullable HostMatch match(List<String> patterns, ServerHttpRequest request) {
        String sent = host(request);
        if (sent == null) {
            return null;
        }
        String host = sent.toLowerCase(Locale.ROOT);
        String withoutPort = includesPort ? Authority.host(host) : host;
        boolean hasPort = withoutPort.length() < host.length();
        for (String pattern : patterns) {
            if (hasPort && !namesPort(pattern) && matcher.match(pattern, withoutPort)) {
                return new HostMatch(pattern, withoutPort);
            }
            if (matcher.match(pattern, host)) {
                return new HostMatch(pattern, host);
            }
        }
        return null;
    }

    private @Nullable String host(ServerHttpRequest request) {
        if (includesPort) {
            return request.getHeaders().getFirst("Host");
        }
        InetSocketAddress address = request.getHeaders().getHost();
        return address == null ? null : address.getHostString();
    }

    /** Whether a pattern has a port, apart from an IPv6 address in brackets and variables in braces. */
    static boolean namesPort(String pattern) {
        int depth = 0;
        for (int i = pattern.length() - 1; i >= 0; i--) {
            switch (pattern.charAt(i)) {
                case '}' -> depth++;
                case '{' -> depth--;
                case ']' -> {
                    if (depth == 0) {
                        return false;
                    }
                }
                case ':' -> {
                    if (depth == 0) {
                        return true;
                    }
                }
                default -> {
                    // Part of a name, a port or a variable.
                }
            }
        }
        return false;
    }
}
