package io.weir.door;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.util.pattern.PathPattern;

/**
 * All routes in Spring Cloud Gateway's order, indexed by the path's first segment, so that a match costs the same with ten routes
 * as with ten thousand.
 *
 * <p>Immutable.
 */
public final class RouteTable {

    /**
     * One of the routes.
     *
     * @param compiled the route, if the compiled door serves it
     */
    public record Entry(RouteMatcher matcher, @Nullable CompiledRoute compiled) {}

    /** What a request matches. */
    sealed interface Match {}

    /** A route of the compiled door's. */
    record Compiled(CompiledRoute route) implements Match {}

    /** A route of Spring Cloud Gateway's, or perhaps none. */
    enum Other implements Match {
        /** For Spring Cloud Gateway to find out. */
        GENERAL,
        /** Nothing matches. */
        NONE
    }

    private final List<Match> matches;
    private final List<Entry> entries;
    /** Indices of the routes that a first segment may match, in order. */
    private final Map<String, int[]> bySegment;
    /** Indices of the routes that any first segment may match. */
    private final int[] anySegment;

    private final int[] all;

    public RouteTable(List<Entry> entries) {
        this.entries = List.copyOf(entries);
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
        this.anySegment = array(any);
        this.all = new int[entries.size()];
        for (int i = 0; i < all.length; i++) {
            all[i] = i;
        }
    }

    /** The first route that matches; a general one that may match ends the search, since what follows it may not come first. */
    Match match(ServerHttpRequest request, String rawPath) {
        PathContainer path = PathContainer.parsePath(rawPath);
        for (int index : candidates(rawPath)) {
            if (entries.get(index).matcher().matches(request, path)) {
                return matches.get(index);
            }
        }
        return Other.NONE;
    }

    List<Entry> entries() {
        return entries;
    }

    private int[] candidates(String rawPath) {
        int end = rawPath.indexOf('/', 1);
        String segment = end < 0 ? rawPath.substring(Math.min(1, rawPath.length())) : rawPath.substring(1, end);
        if (segment.indexOf('%') >= 0 || segment.indexOf(';') >= 0) {
            // Patterns match the decoded segment without its parameters; the index knows the raw one.
            return all;
        }
        int[] found = bySegment.get(segment);
        return found == null ? anySegment : found;
    }

    private static final String ANY = "*";

    /** The literal first segments that the predicates ask for; {@link #ANY} among them if one is a pattern or none is asked for. */
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
