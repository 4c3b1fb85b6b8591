package io.weir.warmup;

import io.weir.config.WeirProperties;
import java.net.InetAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.handler.predicate.PredicateDefinition;
import org.springframework.cloud.gateway.route.RouteDefinition;

/**
 * The configuration of the private gateway: the defaults, a backend and a route for each kind of call.
 *
 * <p>No breaker can open, as it would be logged like one of the operator's: it would take more calls than
 * there are callers. The gateway's event loops
 * are busy with compiling, so the limit on their delay is out of reach.
 *
 * @param weir the properties of the backends and routes
 * @param gateway the routes
 */
record PrivateConfiguration(WeirProperties weir, GatewayProperties gateway) {

    /** As the addresses of the backends name it. */
    static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    static final String GENERAL = "general";

    private static final String PREFIX = "warm-up-";
    private static final String BACKENDS = "weir.backends." + PREFIX;
    private static final String ROUTES = "weir.routes." + PREFIX;

    /**
     * A configuration.
     *
     * @param token the first segment of each path
     * @param backendPort the port of the backend
     * @param http2Port the port of the backend that speaks HTTP/2; 0: there is none
     * @param isGeneral whether there is a route of the general door
     */
    static PrivateConfiguration of(String token, int backendPort, int http2Port, boolean isGeneral) {
        Map<String, String> properties = new HashMap<>();
        List<RouteDefinition> routes = new ArrayList<>();
        for (String name : List.of("forward", "stripped", "queue", "full", "limited", "retry", "timeout")) {
            backend(name, backendPort, properties);
            routes.add(route(name, token));
        }
        if (isGeneral) {
            backend(GENERAL, backendPort, properties);
            routes.add(route(GENERAL, token));
        }
        properties.put(BACKENDS + "queue.bulkhead.max-concurrent-calls", "1");
        properties.put(BACKENDS + "queue.bulkhead.queue-capacity", "100");
        properties.put(BACKENDS + "queue.bulkhead.max-wait-duration", "2s");
        properties.put(BACKENDS + "full.bulkhead.max-concurrent-calls", "1");
        properties.put(BACKENDS + "full.bulkhead.queue-capacity", "0");
        properties.put(BACKENDS + "timeout.deadline", PrivateBackend.SLOW_MILLIS / 2 + "ms");
        properties.put(ROUTES + "limited.rate-limit.permits", "1");
        properties.put(ROUTES + "limited.rate-limit.period", "1s");
        properties.put(ROUTES + "retry.retry.backoff", "1ms");
        if (http2Port != 0) {
            backend("h2", http2Port, properties);
            properties.put(BACKENDS + "h2.protocol", "h2");
            routes.add(route("h2", token));
        }
        properties.put("weir.overload.target-event-loop-delay", "1m");
        properties.put("weir.overload.interval", "10s");
        properties.put("weir.overload.max-event-loop-delay", "1m");
        GatewayProperties gateway = new GatewayProperties();
        gateway.setRoutes(routes);
        WeirProperties weir = new Binder(new MapConfigurationPropertySource(properties))
                .bind("weir", WeirProperties.class)
                .get();
        return new PrivateConfiguration(weir, gateway);
    }

    private static void backend(String name, int port, Map<String, String> properties) {
        properties.put(BACKENDS + name + ".uri", "http://" + LOOPBACK.getHostAddress() + ":" + port);
        properties.put(BACKENDS + name + ".circuit-breaker.sliding-window-size", "100000");
        properties.put(BACKENDS + name + ".circuit-breaker.minimum-number-of-calls", "100000");
        properties.put(BACKENDS + name + ".circuit-breaker.stall-calls", "1000");
        if (!name.equals("forward")) {
            // An adaptive limit would follow the failures, and log that.
            properties.put(BACKENDS + name + ".bulkhead.max-concurrent-calls", "100");
        }
    }

    private static RouteDefinition route(String name, String token) {
        RouteDefinition route = new RouteDefinition();
        route.setId(PREFIX + name);
        route.setUri(URI.create("backend://" + PREFIX + name));
        // Before the routes of an operator's extension, which match in every gateway of this context.
        route.setOrder(Integer.MIN_VALUE);
        route.getPredicates().add(new PredicateDefinition("Path=/" + token + '/' + name + "/**"));
        if (name.equals(GENERAL)) {
            // No route with this predicate is compiled.
            route.getPredicates().add(new PredicateDefinition("After=2020-01-01T00:00:00Z"));
        }
        if (name.equals("stripped")) {
            // The backend's paths begin with the token too.
            route.setFilters(
                    List.of(new FilterDefinition("StripPrefix=2"), new FilterDefinition("PrefixPath=/" + token)));
        }
        return route;
    }
}
