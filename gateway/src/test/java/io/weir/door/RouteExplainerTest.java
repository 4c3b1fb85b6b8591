package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.weir.door.Explanation.ExplainedRoute;
import io.weir.door.Explanation.Match;
import io.weir.engine.InFlightCounter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.springframework.cloud.gateway.handler.AsyncPredicate;
import org.springframework.cloud.gateway.handler.predicate.GatewayPredicate;
import org.springframework.cloud.gateway.handler.predicate.HostRoutePredicateFactory;
import org.springframework.cloud.gateway.route.Route;
import org.springframework.web.server.ServerWebExchange;

/** The order and the bound of explained routes, and predicates that are not evaluated. */
class RouteExplainerTest {

    private static final WeightedGroups NO_GROUPS = new WeightedGroups(List.of(), id -> null);
    private static final GatewayPredicate HOLDS = exchange -> true;
    private static final GatewayPredicate FAILS = exchange -> false;

    private record Part(String text, boolean isKnown, Predicate<ServerWebExchange> predicate) {}

    private final List<RouteTable.Entry> entries = new ArrayList<>();
    private final List<RouteView> views = new ArrayList<>();
    private final List<Route> general = new ArrayList<>();

    private static Part part(String text, Predicate<ServerWebExchange> predicate) {
        return new Part(text, true, predicate);
    }

    private void add(String id, Part... parts) {
        AsyncPredicate<ServerWebExchange> all = AsyncPredicate.from(parts[0].predicate);
        for (int i = 1; i < parts.length; i++) {
            all = all.and(AsyncPredicate.from(parts[i].predicate));
        }
        general.add(
                Route.async().id(id).uri("backend://orders").asyncPredicate(all).build());
        entries.add(
                new RouteTable.Entry(id, new RouteMatcher(List.of(), List.of(), List.of(), false), List.of(), null));
        List<RouteView.Written> written = new ArrayList<>();
        for (Part part : parts) {
            if (!part.text.isEmpty()) {
                written.add(new RouteView.Written(part.text, part.isKnown));
            }
        }
        views.add(new RouteView(id, "orders", FrontDoor.GENERAL, "a test", null, null, written));
    }

    private Explanation explain(String method, String url) {
        Routes routes = new Routes(
                new RouteTable(entries, NO_GROUPS),
                Map.of(),
                Map.of(),
                views,
                Set.of(),
                general,
                NO_GROUPS,
                new RouteAnswers(Map.of(), AnswerRules.NONE),
                null,
                new InFlightCounter());
        return new RouteExplainer(() -> routes, false).explain(method, url, new DefaultHttpHeaders());
    }

    @Test
    void showsTheMatchedRouteAndTheTenNearestOfTenThousand() {
        for (int i = 0; i < 10_000; i++) {
            add(
                    "route-" + i,
                    part("Path=/service-" + i + "/**", FAILS),
                    part("Method=GET", i == 7_000 ? HOLDS : FAILS));
        }
        add("all", part("Path=/**", HOLDS));
        add("also", part("Path=/*", HOLDS));

        Explanation explanation = explain("GET", "/service-99");

        assertThat(explanation.route()).isNotNull();
        assertThat(explanation.route().id()).isEqualTo("all");
        assertThat(explanation.route().position()).isEqualTo(10_001);
        assertThat(explanation.total()).isEqualTo(10_002);
        // By the predicates that hold, and the part of the path that agrees.
        assertThat(explanation.routes())
                .hasSize(10)
                .extracting(ExplainedRoute::id)
                .startsWith("also", "route-7000", "route-99", "route-990");
        assertThat(explanation.routes().get(1).failed()).containsExactly("Path=/service-7000/**");
        assertThat(explanation.lines())
                .startsWith("GET localhost/service-99", "route all (10001 of 10002): serves the request")
                .contains(
                        "nearest other routes:",
                        "  also (10002 of 10002): matches too, but a route before it serves the request",
                        "  route-99 (100 of 10002): fails Path=/service-99/**, Method=GET");
    }

    @Test
    void evaluatesNoPredicateOfAnExtension() {
        add("custom", part("Path=/**", HOLDS), new Part("Custom=1", false, exchange -> {
            throw new AssertionError("evaluated");
        }));
        add("before", new Part("Custom=1", false, HOLDS), part("Path=/a", FAILS));
        add("code", new Part("", false, HOLDS));

        Explanation explanation = explain("GET", "/x");

        assertThat(explanation.route()).isNull();
        assertThat(explanation.isServed()).isFalse();
        assertThat(explanation.routes()).extracting(ExplainedRoute::id).containsExactly("custom", "code", "before");
        assertThat(explanation.routes())
                .extracting(ExplainedRoute::match)
                .containsExactly(Match.UNKNOWN, Match.UNKNOWN, Match.NO);
        assertThat(explanation.routes().get(0).notEvaluated()).containsExactly("Custom=1");
        assertThat(explanation.routes().get(2).failed()).containsExactly("Path=/a");
        assertThat(explanation.lines())
                .contains(
                        "no route is certain to match",
                        "  custom (1 of 3): may match; not evaluated: Custom=1",
                        "  code (3 of 3): may match; not evaluated: made in code");
    }

    @Test
    void evaluatesNoPredicateThatNeedsAConnection() {
        add("remote", part("RemoteAddr=10.0.0.0/8", new GatewayPredicate() {
            @Override
            public boolean test(ServerWebExchange exchange) {
                return exchange.getRequest().getRemoteAddress() == null;
            }
        }));

        assertThat(explain("GET", "/x").routes().getFirst().match()).isEqualTo(Match.UNKNOWN);
    }

    @Test
    void comparesAHostAsTheDoorsDo() {
        HostRoutePredicateFactory.Config config = new HostRoutePredicateFactory.Config();
        config.setPatterns(List.of("shop.example"));
        add("shop", part("Host=shop.example", new HostPredicateFactory(true).apply(config)));

        assertThat(explain("GET", "https://Shop.Example:443/x").isServed()).isTrue();
        assertThat(explain("GET", "http://shop.example/x").isServed()).isTrue();
        assertThat(explain("GET", "http://shop.example:8080/x").isServed()).isTrue();
        assertThat(explain("GET", "/x").lines())
                .containsExactly(
                        "GET localhost/x",
                        "no route matches (no-route, 404)",
                        "other routes:",
                        "  shop (1 of 1): fails Host=shop.example");
    }

    @Test
    void showsTheNormalisedPathAndRefusals() {
        add("all", part("Path=/**", HOLDS));

        Explanation normalised = explain("GET", "http://shop.example//a/%2e%2e/%62?q=\"1\"");
        assertThat(normalised.path()).isEqualTo("/b");
        assertThat(normalised.host()).isEqualTo("shop.example");
        assertThat(normalised.isServed()).isTrue();
        for (String url : List.of("/a/../../b", "/a%2fb", "/a;/..;/b", "/%zz", "shop.example/x", "http://ä/")) {
            Explanation refused = explain("GET", url);
            assertThat(refused.refused()).as(url).startsWith("bad-request: ");
            assertThat(refused.isServed()).as(url).isFalse();
            assertThat(refused.path()).as(url).isNull();
            assertThat(refused.lines()).as(url).hasSize(2);
        }
    }
}
