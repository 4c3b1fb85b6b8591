package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.edge.Authority;
import io.weir.edge.CallerPeer;
import io.weir.edge.Forwarding;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.handler.predicate.GatewayPredicate;
import org.springframework.cloud.gateway.handler.predicate.HostRoutePredicateFactory;
import org.springframework.cloud.gateway.support.ServerWebExchangeUtils;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.util.AntPathMatcher;
import org.springframework.web.server.ServerWebExchange;
import reactor.netty.channel.ChannelOperations;
import reactor.netty.http.server.HttpServerRequest;

/**
 * Spring Cloud Gateway's predicate Host, for both doors, with hosts compared as RFC 9110, 4.2.3 says: in any
 * case, and the default port of the scheme is equal to none. A pattern matches the host in lower case, with
 * its port or without a default one; the check refuses patterns with capital letters.
 *
 * <p>Only this comparison changes the host. Other predicates, filters and backends see {@code Host} as the
 * caller has sent it: signatures may cover it.
 */
public final class HostPredicateFactory extends HostRoutePredicateFactory {

    private final boolean includesPort;
    private final Forwarding forwarding;
    private final AntPathMatcher matcher = new AntPathMatcher(".");

    private record HostMatch(String pattern, String host) {}

    /**
     * Creates the factory.
     *
     * @param includesPort {@code spring.cloud.gateway.server.webflux.predicate.host.include-port}
     * @param forwarding knows the scheme that trusted proxies report
     */
    public HostPredicateFactory(boolean includesPort, Forwarding forwarding) {
        super(includesPort);
        this.includesPort = includesPort;
        this.forwarding = forwarding;
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
        String withoutPort = includesPort ? withoutDefaultPort(host, request) : null;
        for (String pattern : patterns) {
            if (matcher.match(pattern, host)) {
                return new HostMatch(pattern, host);
            }
            if (withoutPort != null && matcher.match(pattern, withoutPort)) {
                return new HostMatch(pattern, withoutPort);
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

    private @Nullable String withoutDefaultPort(String host, ServerHttpRequest request) {
        // The scheme is asked for only if there is a port.
        return host.equals(Authority.host(host)) ? null : Authority.withoutDefaultPort(host, scheme(request));
    }

    private String scheme(ServerHttpRequest request) {
        Object received = ServerHttpRequestDecorator.getNativeRequest(request);
        if (!(received instanceof HttpServerRequest in)) {
            // An explanation's request has no connection.
            return request.getURI().getScheme();
        }
        HttpHeaders fromCaller = in.requestHeaders();
        String scheme = in.connectionScheme();
        InetSocketAddress peer = CallerPeer.of(((ChannelOperations<?, ?>) in).channel());
        return peer == null ? scheme : forwarding.callerScheme(fromCaller, peer, scheme);
    }
}
