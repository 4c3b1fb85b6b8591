package io.weir.door;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.door.Explanation.ExplainedRoute;
import io.weir.door.Explanation.Match;
import io.weir.edge.HopByHop;
import io.weir.edge.MalformedTargetException;
import io.weir.edge.RequestTarget;
import io.weir.edge.TargetEncoder;
import io.weir.engine.Route;
import io.weir.outcome.Reason;
import java.net.URI;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.cloud.gateway.support.HasConfig;
import org.springframework.cloud.gateway.support.ServerWebExchangeUtils;
import org.springframework.http.HttpMethod;
import org.springframework.web.server.ServerWebExchange;

/**
 * Explains which route a request takes, and which predicates of the others fail. It asks Spring Cloud
 * Gateway's own predicates, for the routes of both doors, and has no side effects: it takes no permit and no
 * token of a rate limit, and calls no backend. Predicates of extensions are not evaluated, since they may
 * have side effects, and neither are those that need a caller's connection.
 *
 * <p>Immutable, apart from the routes in force.
 */
public final class RouteExplainer {

    private static final Logger log = LoggerFactory.getLogger(RouteExplainer.class);

    /** More routes than a reader compares. */
    private static final int MAX_ROUTES = 10;

    private static final String METHOD = "Method=";
    private static final String PATH = "Path=";
    private static final String HOST = "Host=";

    /** The weight of a predicate Path or Host that holds. */
    private static final int IMPORTANT = 40;

    /** The weight of a path that agrees with a pattern to its end, and yet does not match. */
    private static final int SIMILAR = 30;

    /** The weight of any other predicate that holds. */
    private static final int OTHER = 10;

    private final Supplier<Routes> routes;
    private final boolean allowEncodedSlashes;

    /**
     * An explainer.
     *
     * @param routes supplies the routes in force
     * @param allowEncodedSlashes {@code weir.edge.allow-encoded-slashes}
     */
    public RouteExplainer(Supplier<Routes> routes, boolean allowEncodedSlashes) {
        this.routes = routes;
        this.allowEncodedSlashes = allowEncodedSlashes;
    }

    /**
     * Explains a request.
     *
     * @param method its method
     * @param url an absolute URL, or a path; then {@code Host} is that of the fields, or else localhost
     * @param fields the header fields, which are changed
     */
    public Explanation explain(String method, String url, HttpHeaders fields) {
        Routes current = routes.get();
        RequestTarget target;
        URI uri;
        try {
            target = RequestTarget.parse(TargetEncoder.encode(url), allowEncodedSlashes);
            if (target.authority() != null) {
                fields.set(HttpHeaderNames.HOST, target.authority());
            } else if (!fields.contains(HttpHeaderNames.HOST)) {
                fields.set(HttpHeaderNames.HOST, "localhost");
            }
            String scheme = url.regionMatches(true, 0, "https:", 0, 6) ? "https" : "http";
            uri = uri(scheme, fields, target);
        } catch (IllegalArgumentException e) {
            String host = fields.get(HttpHeaderNames.HOST, "");
            String detail = Reason.BAD_REQUEST.word() + ": " + e.getMessage();
            return new Explanation(
                    method, host, null, detail, null, List.of(), current.views().size());
        }
        HopByHop.stripNamed(fields);
        if (current.reservedFields() != null) {
            current.reservedFields().removeFrom(fields);
        }
        WeightedGroups.Draw draw = current.weights().isEmpty() ? null : new WeightedGroups.Draw(fields, () -> "");
        return new Search(current, method, uri, target, fields, draw).explain();
    }

    private static URI uri(String scheme, HttpHeaders fields, RequestTarget target) {
        return URI.create(scheme + "://" + fields.get(HttpHeaderNames.HOST, "localhost") + target.pathAndQuery());
    }

    /** Logs at debug why no route matches a request. It evaluates all routes, so debug is not for load. */
    static void logNoRoute(InboundRequest inbound, Routes current, WeightedGroups.@Nullable Draw draw) {
        if (!log.isDebugEnabled()) {
            return;
        }
        String method = inbound.requestMethod();
        String path = inbound.requestPath();
        try {
            HttpHeaders fields = inbound.headers().copy();
            RequestTarget target = inbound.target();
            URI uri = uri(inbound.scheme(), fields, target);
            List<ExplainedRoute> nearest = new Search(current, method, uri, target, fields, draw)
                    .explain()
                    .routes();
            if (nearest.isEmpty()) {
                log.debug("No route for {} {}: there are no routes", method, path);
            } else {
                ExplainedRoute first = nearest.getFirst();
                log.debug("No route for {} {}: the nearest route, {}, {}", method, path, first.id(), first.reason());
            }
        } catch (IllegalArgumentException e) {
            log.debug("No route for {} {}: {}", method, path, e.getMessage());
        }
    }

    /**
     * A route's predicates after their evaluation.
     *
     * @param nearness the weight of the predicates that hold. Path and Host weigh most: a reader looks for
     *     the route of this path, not for one of the many that also have {@code Method=GET}.
     */
    private record Verdict(int index, List<String> failed, List<String> notEvaluated, int nearness) {

        static final Comparator<Verdict> NEAREST_FIRST = Comparator.comparingInt(Verdict::nearness)
                .reversed()
                .thenComparingInt(one -> one.failed.size())
                .thenComparingInt(Verdict::index);

        Match match() {
            if (!failed.isEmpty()) {
                return Match.NO;
            }
            return notEvaluated.isEmpty() ? Match.YES : Match.UNKNOWN;
        }
    }

    /** One evaluation of all routes. */
    private static final class Search {

        private final Routes routes;
        private final String method;
        private final String host;
        private final RequestTarget target;
        private final ServerWebExchange exchange;

        Search(
                Routes routes,
                String method,
                URI uri,
                RequestTarget target,
                HttpHeaders fields,
                WeightedGroups.@Nullable Draw draw) {
            this.routes = routes;
            this.method = method;
            this.host = fields.get(HttpHeaderNames.HOST, "");
            this.target = target;
            this.exchange = new ExplainedRequest(method, uri, fields).exchange();
            if (draw != null) {
                Map<String, String> chosen = new HashMap<>();
                routes.weights().addChosen(draw, chosen);
                exchange.getAttributes().put(ServerWebExchangeUtils.WEIGHT_ATTR, chosen);
            }
        }

        Explanation explain() {
            List<Verdict> all = IntStream.range(0, routes.views().size())
                    .mapToObj(this::verdict)
                    .toList();
            Verdict chosen = all.stream()
                    .filter(one -> one.match() == Match.YES)
                    .findFirst()
                    .orElse(null);
            List<ExplainedRoute> others = all.stream()
                    .filter(one -> chosen == null || one.index != chosen.index)
                    .sorted(Verdict.NEAREST_FIRST)
                    .limit(MAX_ROUTES)
                    .map(this::explained)
                    .toList();
            return new Explanation(
                    method,
                    host,
                    target.path(),
                    chosen == null
                            ? null
                            : refusal(routes.views().get(chosen.index).id()),
                    chosen == null ? null : explained(chosen),
                    others,
                    all.size());
        }

        /** The refusal of a path that the backend must see as received. */
        private @Nullable String refusal(String id) {
            if (routes.pathPreserving().contains(id)) {
                try {
                    target.receivedPath();
                } catch (MalformedTargetException e) {
                    return Reason.BAD_REQUEST.word() + ": " + e.getMessage();
                }
            }
            return null;
        }

        private Verdict verdict(int index) {
            RouteView view = routes.views().get(index);
            List<HasConfig> visited = new ArrayList<>();
            routes.general().get(index).getPredicate().accept(visited::add);
            exchange.getAttributes().put(ServerWebExchangeUtils.GATEWAY_PREDICATE_ROUTE_ATTR, view.id());
            List<RouteView.Written> written = view.predicates();
            // Spring Cloud Gateway does not show all predicates of extensions.
            boolean areAllVisited = visited.size() == written.size();
            boolean areKnownVisited = visited.size()
                    == written.stream().filter(RouteView.Written::isKnown).count();
            List<String> failed = new ArrayList<>();
            List<String> notEvaluated = new ArrayList<>();
            int next = 0;
            int nearness = 0;
            for (RouteView.Written one : written) {
                HasConfig predicate = one.isKnown() && (areAllVisited || areKnownVisited) ? visited.get(next) : null;
                next += areAllVisited || one.isKnown() ? 1 : 0;
                Boolean holds = predicate == null ? null : holds(index, one.text(), predicate);
                if (holds == null) {
                    notEvaluated.add(one.text());
                } else if (holds) {
                    nearness += one.text().startsWith(PATH) || one.text().startsWith(HOST) ? IMPORTANT : OTHER;
                } else {
                    failed.add(one.text());
                    nearness += similarity(one.text());
                }
            }
            if (written.isEmpty()) {
                notEvaluated.add(RouteView.Written.IN_CODE);
            }
            return new Verdict(index, failed, notEvaluated, nearness);
        }

        /** Whether a predicate holds; null: it cannot be evaluated. */
        private @Nullable Boolean holds(int index, String text, HasConfig predicate) {
            CompiledRoute compiled = routes.table().entries().get(index).compiled();
            if (compiled != null && text.startsWith(METHOD)) {
                // Spring Cloud Gateway knows only methods that have a constant.
                HttpMethod asked = HttpMethod.valueOf(method);
                return compiled.matcher().methods().stream().allMatch(methods -> methods.contains(asked));
            }
            if (!(predicate instanceof Predicate<?> known)) {
                return null;
            }
            try {
                @SuppressWarnings("unchecked") // All predicates of routes read an exchange.
                Predicate<ServerWebExchange> ofExchange = (Predicate<ServerWebExchange>) known;
                return ofExchange.test(exchange);
            } catch (RuntimeException e) {
                log.trace("{} not evaluated", text, e);
                return null;
            }
        }

        /** The part of the path that agrees with a pattern of a failed predicate, in thirtieths. */
        private int similarity(String text) {
            if (!text.startsWith(PATH)) {
                return 0;
            }
            String path = target.path();
            int most = 1;
            for (String pattern : text.substring(PATH.length()).split(",", -1)) {
                int i = 0;
                while (i < pattern.length() && i < path.length() && pattern.charAt(i) == path.charAt(i)) {
                    i++;
                }
                most = Math.max(most, i);
            }
            // Every path has the first slash.
            return SIMILAR * (most - 1) / path.length();
        }

        private ExplainedRoute explained(Verdict verdict) {
            RouteView view = routes.views().get(verdict.index);
            return new ExplainedRoute(
                    verdict.index + 1,
                    view.id(),
                    verdict.match(),
                    verdict.failed,
                    verdict.notEvaluated,
                    view.door(),
                    view.backend(),
                    rules(routes.route(view.id())));
        }

        private static List<String> rules(@Nullable Route route) {
            List<String> rules = new ArrayList<>();
            if (route != null) {
                add(rules, "access", route.access());
                add(rules, "authentication", route.authentication());
                add(rules, "authorize", route.authorizer());
                add(rules, "rate-limit", route.rateLimiter());
                add(rules, "max-concurrent-calls", route.limit());
                add(rules, "max-concurrent-per-key", route.callsPerKey());
                add(rules, "guaranteed-share", route.guaranteedShare());
                add(rules, "answer", route.answer());
            }
            return rules;
        }

        private static void add(List<String> rules, String name, @Nullable Object rule) {
            if (rule != null) {
                rules.add(name);
            }
        }
    }
}
