package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.weir.door.RouteTable.Compiled;
import io.weir.door.RouteTable.Entry;
import io.weir.door.RouteTable.Match;
import io.weir.door.RouteTable.Other;
import io.weir.door.WeightedGroups.Draw;
import io.weir.door.WeightedGroups.Member;
import io.weir.engine.BackendObserver;
import io.weir.engine.Route;
import io.weir.testing.ObservedGateway;
import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/** The index over the first segments of the paths finds what a search of all routes finds. */
class RouteTableTest {

    private static final WeightedGroups NO_GROUPS = new WeightedGroups(List.of(), id -> null);

    private final ObservedGateway gateway = new ObservedGateway();
    private final Route route = gateway.route(gateway.backend(BackendObserver.NONE), null, ended -> {});
    private final List<Entry> entries = new ArrayList<>();
    private WeightedGroups groups = NO_GROUPS;

    private static List<PathPattern> patterns(String... patterns) {
        return Arrays.stream(patterns)
                .map(PathPatternParser.defaultInstance::parse)
                .toList();
    }

    private static RouteMatcher matcher(List<List<PathPattern>> paths, List<Predicate<ServerHttpRequest>> others) {
        return new RouteMatcher(paths, List.of(), others, true);
    }

    /** Adds a route for these alternatives; returns the table's result for it. */
    private Match add(String... patterns) {
        return add(matcher(List.of(patterns(patterns)), List.of()), List.of());
    }

    private Match add(RouteMatcher matcher, List<String> of) {
        CompiledRoute compiled = new CompiledRoute(
                route, matcher, List.of(), false, List.of(), List.of(), false, false, AnswerRules.NONE);
        entries.add(new Entry("route-" + entries.size(), matcher, of, compiled));
        return new Compiled(compiled);
    }

    private Match match(String rawPath) {
        return match(rawPath, null);
    }

    private Match match(String rawPath, @Nullable Draw draw) {
        return new RouteTable(entries, groups).match(HttpMethod.GET, RouteTableTest::get, rawPath, draw);
    }

    private static ServerHttpRequest get() {
        return MockServerHttpRequest.get("/").build();
    }

    // ---------------------------------------------------------------- order

    @Test
    void findsTheFirstRouteInTheirOrder() {
        Match first = add("/orders/**");
        add("/orders/open");
        Match other = add("/users/**", "/people/**");

        assertThat(match("/orders/open")).isEqualTo(first);
        assertThat(match("/people/1")).isEqualTo(other);
        assertThat(match("/nothing")).isEqualTo(Other.NONE);
    }

    @Test
    void aPatternForAnySegmentKeepsItsPlaceAmongTheOthers() {
        Match early = add("/orders/open");
        Match any = add("/{tenant}/open");
        add("/users/open");
        Match all = add("/**");

        assertThat(match("/orders/open")).isEqualTo(early);
        assertThat(match("/users/open")).isEqualTo(any);
        assertThat(match("/users/closed")).isEqualTo(all);
        assertThat(match("/other/open")).isEqualTo(any);
        assertThat(match("/")).isEqualTo(all);
    }

    @Test
    void aRouteWithoutAPathMatchesAnyPath() {
        Match noPath = add(matcher(List.of(), List.of()), List.of());
        add("/orders/**");

        assertThat(match("/orders/1")).isEqualTo(noPath);
        assertThat(match("")).isEqualTo(noPath);
    }

    @Test
    void aRouteWithOneAlternativeForAnySegmentMatchesAnySegment() {
        Match both = add("/orders", "/*/all");

        assertThat(match("/users/all")).isEqualTo(both);
        assertThat(match("/orders")).isEqualTo(both);
        assertThat(match("/users/none")).isEqualTo(Other.NONE);
    }

    /** All Path predicates must match; the index knows the first one. */
    @Test
    void everyPathPredicateOfARouteMustMatch() {
        Match both = add(matcher(List.of(patterns("/orders/**"), patterns("/*/open")), List.of()), List.of());

        assertThat(match("/orders/open")).isEqualTo(both);
        assertThat(match("/orders/closed")).isEqualTo(Other.NONE);
        assertThat(match("/users/open")).isEqualTo(Other.NONE);
    }

    @Test
    void continuesBehindARouteWhoseOtherPredicatesDoNotMatch() {
        add(matcher(List.of(patterns("/orders")), List.of(request -> false)), List.of());
        RouteMatcher onlyPost =
                new RouteMatcher(List.of(patterns("/orders")), List.of(Set.of(HttpMethod.POST)), List.of(), true);
        add(onlyPost, List.of());
        Match last = add("/orders");

        assertThat(match("/orders")).isEqualTo(last);
    }

    /** That view is a tenth of what a refusal allocates. */
    @Test
    void needsNoViewOfSpringForPathAndMethod() {
        add(
                new RouteMatcher(List.of(patterns("/orders")), List.of(Set.of(HttpMethod.POST)), List.of(), true),
                List.of());
        Match get = add(
                new RouteMatcher(List.of(patterns("/orders")), List.of(Set.of(HttpMethod.GET)), List.of(), true),
                List.of());

        Match found = new RouteTable(entries, groups)
                .match(
                        HttpMethod.GET,
                        () -> {
                            throw new AssertionError("Spring's view");
                        },
                        "/orders",
                        null);

        assertThat(found).isEqualTo(get);
    }

    /** No later route may be chosen before a general route that may match. */
    @Test
    void aGeneralRouteEndsTheSearch() {
        RouteMatcher maybe = new RouteMatcher(List.of(patterns("/orders/**")), List.of(), List.of(), false);
        entries.add(new Entry("general", maybe, List.of(), null));
        Match later = add("/**");

        assertThat(match("/orders/1")).isEqualTo(Other.GENERAL);
        assertThat(match("/users")).isEqualTo(later);
    }

    // ---------------------------------------------------------------- segments

    /** The patterns match decoded segments without their parameters. */
    @ParameterizedTest
    @CsvSource({"/orders/1", "/%6Frders/1", "/orders;v=2/1", "/orders;a=b;c/1", "/%6frders;x/1"})
    void findsARouteWhateverTheSegmentLooksLike(String rawPath) {
        add("/users/**");
        Match orders = add("/orders/{id}");

        assertThat(match(rawPath)).isEqualTo(orders);
    }

    /** Otherwise each caller could make each request as expensive as there are routes. */
    @ParameterizedTest
    @CsvSource({"/orders/1", "/%6Frders/1", "/orders;v=2/1", "/none/1", "/n%6Fne;x/1", "/%2Forders", "/;x/1", "//1"})
    void triesNoRouteOfAnotherSegment(String rawPath) {
        AtomicInteger tried = new AtomicInteger();
        Set<HttpMethod> counting = new AbstractSet<>() {
            @Override
            public boolean contains(Object method) {
                tried.incrementAndGet();
                return true;
            }

            @Override
            public Iterator<HttpMethod> iterator() {
                return Collections.emptyIterator();
            }

            @Override
            public int size() {
                return 0;
            }
        };
        for (int i = 0; i < 100; i++) {
            add(
                    new RouteMatcher(List.of(patterns("/users" + i + "/**")), List.of(counting), List.of(), true),
                    List.of());
        }
        add("/orders/{id}");
        match(rawPath);

        assertThat(tried).hasValue(0);
    }

    @ParameterizedTest
    @CsvSource({"/ORDERS/1", "/orders%2F1", "/order/1", "/orders1/1", "//orders/1"})
    void doesNotFindARouteOfAnotherSegment(String rawPath) {
        add("/orders/{id}");

        assertThat(match(rawPath)).isEqualTo(Other.NONE);
    }

    // ---------------------------------------------------------------- weights

    @Test
    void takesTheRouteThatTheDrawHasChosen() {
        groups = new WeightedGroups(
                List.of(new Member("orders", "route-0", 0), new Member("orders", "route-1", 1)), id -> null);
        RouteMatcher orders = matcher(List.of(patterns("/orders")), List.of());
        add(orders, List.of("orders"));
        add(orders, List.of("orders"));
        Draw draw = new Draw(1, new DefaultHttpHeaders(), () -> "192.0.2.1");

        assertThat(index(match("/orders", draw))).isEqualTo(1);
        assertThat(index(match("/orders", null))).as("no groups").isZero();
    }

    /** The index of the route; -1: none. */
    @SuppressWarnings("ReferenceEquality") // Two routes with the same predicates are equal.
    private int index(Match match) {
        return IntStream.range(0, entries.size())
                .filter(i -> match instanceof Compiled found
                        && found.route() == entries.get(i).compiled())
                .findFirst()
                .orElse(-1);
    }

    // ---------------------------------------------------------------- all together

    /** The index of the first route that matches; -1: none. */
    private int naive(String rawPath) {
        PathContainer path = PathContainer.parsePath(rawPath);
        return IntStream.range(0, entries.size())
                .filter(i -> entries.get(i).matcher().matches(HttpMethod.GET, RouteTableTest::get, path))
                .findFirst()
                .orElse(-1);
    }

    @Test
    void findsWhatASearchOfAllRoutesFinds() {
        Random random = new Random(1);
        List<String> patternSegments = List.of("a", "b", "orders", "*", "{x}", "a*", "?", "a%20b", "{y:[ab]}");
        List<String> pathSegments = List.of("a", "b", "orders", "%61", "a;v=1", "a%20b", "ab", "", "c", ";", "%2F");
        for (int table = 0; table < 300; table++) {
            entries.clear();
            for (int i = random.nextInt(8); i >= 0; i--) {
                add(IntStream.rangeClosed(0, random.nextInt(2))
                        .mapToObj(alternative -> text(random, patternSegments, random.nextBoolean() ? "/**" : ""))
                        .toArray(String[]::new));
            }
            RouteTable indexed = new RouteTable(entries, NO_GROUPS);
            for (int i = 0; i < 30; i++) {
                String rawPath = text(random, pathSegments, random.nextBoolean() ? "/" : "");
                assertThat(index(indexed.match(HttpMethod.GET, RouteTableTest::get, rawPath, null)))
                        .as("%s among %s", rawPath, entries)
                        .isEqualTo(naive(rawPath));
            }
        }
    }

    private static String text(Random random, List<String> segments, String end) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(3); i >= 0; i--) {
            // A pattern has each variable once.
            text.append('/')
                    .append(segments.get(random.nextInt(segments.size())).replace("{", "{v" + i));
        }
        return text.append(end).toString();
    }
}
