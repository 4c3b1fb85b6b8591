package io.weir.door;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.PathContainer.PathSegment;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.util.pattern.PathPattern;

/**
 * All routes in Spring Cloud Gateway's order, indexed by the path's first segment: a match costs the same
 * with ten routes and with ten thousand. Immutable.
 */
public final class RouteTable {

    /**
     * One of the routes.
     *
     * @param id its id
     * @param matcher the predicates, apart from Weight
     * @param groups the weighted groups of the route
     * @param compiled the compiled route; null if the general door serves it
     */
    public record Entry(
            String id,
            RouteMatcher matcher,
            List<String> groups,
            @Nullable CompiledRoute compiled) {}

    /** The result of a match. */
    sealed interface Match {}

    /** A route of the compiled door. */
    record Compiled(CompiledRoute route) implements Match {}

    /** No compiled route. */
    enum Other implements Match {
        /** Spring Cloud Gateway has to find the route. */
        GENERAL,
        /** No route matches. */
        NONE
    }

    private final List<Match> matches;
    private final List<Entry> entries;
    private final WeightedGroups weights;
    /** By first segment: indices of the routes that may match, in order. */
    private final Map<String, int[]> bySegment;
    /** Indices of the routes that may match any first segment. */
    private final int[] forAnySegment;

    /**
     * Indexes routes.
     *
     * @param entries the routes, in the order of the match
     * @param weights the weighted groups of these routes
     */
    public RouteTable(List<Entry> entries, WeightedGroups weights) {
        this.entries = List.copyOf(entries);
        this.weights = weights;
        this.matches = entries.stream()
                .<Match>map(entry -> entry.compiled() == null ? Other.GENERAL : new Compiled(entry.compiled()))
                .toList();
        Map<String, List<Integer>> indices = new HashMap<>();
        List<Integer> any = new ArrayList<>();
        Set<String> segments = new LinkedHashSet<>();
        entries.forEach(entry -> segments.addAll(firstSegments(entry.matcher())));
        segments.remove(ANY);
        for (int i = 0; i < entries.size(); i++) {
            Set<String> of = firstSegments(entries.get(i).matcher());
            boolean matchesAny = of.contains(ANY);
            if (matchesAny) {
                any.add(i);
            }
            for (String segment : matchesAny ? segments : of) {
                indices.computeIfAbsent(segment, s -> new ArrayList<>()).add(i);
            }
        }
        this.bySegment = new HashMap<>();
        indices.forEach((segment, list) -> bySegment.put(segment, array(list)));
        this.forAnySegment = array(any);
    }

    /**
     * The first route that matches. A general route that may match ends the search: no later route may be
     * chosen before it.
     *
     * @param method the method of the request; for a preflight request, the one that it asks for
     * @param request makes Spring's view of the request, for routes that need it
     * @param draw the request's choices in weighted groups; null: there are none
     */
    Match match(
            HttpMethod method,
            Supplier<ServerHttpRequest> request,
            String rawPath,
            WeightedGroups.@Nullable Draw draw) {
        PathContainer path = PathContainer.parsePath(rawPath);
        for (int index : candidates(path)) {
            Entry entry = entries.get(index);
            if ((draw == null || weights.choose(entry.id, entry.groups, draw))
                    && entry.matcher.matches(method, request, path)) {
                return matches.get(index);
            }
        }
        return Other.NONE;
    }

    List<Entry> entries() {
        return entries;
    }

    /** Patterns match the decoded segment without its parameters, and so does the index. */
    private int[] candidates(PathContainer path) {
        List<PathContainer.Element> elements = path.elements();
        boolean isFirst = elements.size() > 1 && elements.get(1) instanceof PathSegment;
        String segment = isFirst ? ((PathSegment) elements.get(1)).valueToMatch() : "";
        int[] found = bySegment.get(segment);
        return found == null ? forAnySegment : found;
    }

    private static final String ANY = "*";

    /**
     * The literal first segments of the path predicates; {@link #ANY} if there is no path predicate, or for a
     * pattern.
     */
    private static Set<String> firstSegments(RouteMatcher matcher) {
        Set<String> segments = new LinkedHashSet<>();
        if (matcher.paths().isEmpty()) {
            segments.add(ANY);
        } else {
            for (PathPattern pattern : matcher.paths().get(0)) {
                segments.add(firstSegment(pattern.getPatternString()));
            }
        }
        return segments;
    }

    private static String firstSegment(String pattern) {
        int start = pattern.startsWith("/") ? 1 : 0;
        int end = pattern.indexOf('/', start);
        String segment = end < 0 ? pattern.substring(start) : pattern.substring(start, end);
        boolean literal = segment.chars().noneMatch(c -> c == '*' || c == '?' || c == '{' || c == '%' || c == ';');
        return literal && !segment.isEmpty() ? segment : ANY;
    }

    private static int[] array(List<Integer> list) {
        return list.stream().mapToInt(Integer::intValue).toArray();
    }
}
