package io.weir.door;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.util.StringUtils;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPattern.PathMatchInfo;

/**
 * A route's usual predicates: Path, Host, Method, Header, Query, each with the meaning of Spring Cloud
 * Gateway; for Host, see {@link HostPredicateFactory}. One difference: here a method without a constant in
 * Spring can match. In Spring Cloud Gateway it cannot, because that compares methods by identity.
 *
 * @param paths alternatives for each Path predicate
 * @param methods alternatives for each Method predicate
 * @param others the other predicates
 * @param isComplete whether these are all predicates of the route, apart from Weight; if not, a match means
 *     "maybe"
 */
public record RouteMatcher(
        List<List<PathPattern>> paths,
        List<Set<HttpMethod>> methods,
        List<Predicate<ServerHttpRequest>> others,
        boolean isComplete) {

    /**
     * Whether a request matches.
     *
     * @param request makes Spring's view of the request, for the other predicates
     */
    boolean matches(HttpMethod method, Supplier<ServerHttpRequest> request, PathContainer path) {
        for (Set<HttpMethod> alternatives : methods) {
            if (!alternatives.contains(method)) {
                return false;
            }
        }
        for (List<PathPattern> alternatives : paths) {
            if (firstMatch(alternatives, path) == null) {
                return false;
            }
        }
        for (Predicate<ServerHttpRequest> other : others) {
            if (!other.test(request.get())) {
                return false;
            }
        }
        return true;
    }

    /** The path variables of the matching patterns. */
    Map<String, String> variables(PathContainer path) {
        Map<String, String> variables = new HashMap<>();
        for (List<PathPattern> alternatives : paths) {
            PathPattern match = firstMatch(alternatives, path);
            PathMatchInfo info = match == null ? null : match.matchAndExtract(path);
            if (info != null) {
                variables.putAll(info.getUriVariables());
            }
        }
        return variables;
    }

    private static @Nullable PathPattern firstMatch(List<PathPattern> alternatives, PathContainer path) {
        for (PathPattern pattern : alternatives) {
            if (pattern.matches(path)) {
                return pattern;
            }
        }
        return null;
    }

    static Predicate<ServerHttpRequest> header(String name, @Nullable String regexp) {
        Pattern pattern = StringUtils.hasText(regexp) ? Pattern.compile(regexp) : null;
        return request -> {
            List<String> values = request.getHeaders().getValuesAsList(name);
            if (pattern == null) {
                return !values.isEmpty();
            }
            return values.stream().anyMatch(value -> pattern.matcher(value).matches());
        };
    }

    static Predicate<ServerHttpRequest> query(String name, @Nullable String regexp) {
        Pattern pattern = StringUtils.hasText(regexp) ? Pattern.compile(regexp) : null;
        return request -> {
            List<String> values = request.getQueryParams().get(name);
            if (pattern == null) {
                return request.getQueryParams().containsKey(name);
            }
            return values != null
                    && values.stream()
                            .anyMatch(value ->
                                    value != null && pattern.matcher(value).matches());
        };
    }
}
