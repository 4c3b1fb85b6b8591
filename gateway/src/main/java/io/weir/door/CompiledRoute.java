package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.engine.Route;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A route that the compiled door serves.
 *
 * @param route the engine's route
 * @param matcher the predicates
 * @param path the filters of the path, in order
 * @param usesPathVariables whether a filter of the path uses the path's variables
 * @param request the filters of the request's head, in order
 * @param response the filters of the response's head, in order
 * @param preserveHost whether the backend sees the caller's {@code Host}
 * @param preservePath whether the backend sees the path as received; then {@code path} is empty
 * @param answers the changes of the responses, apart from the filters
 */
public record CompiledRoute(
        Route route,
        RouteMatcher matcher,
        List<PathFilter> path,
        boolean usesPathVariables,
        List<Consumer<HttpHeaders>> request,
        List<Consumer<HttpHeaders>> response,
        boolean preserveHost,
        boolean preservePath,
        AnswerRules answers) {

    /** A filter of the raw path. */
    @FunctionalInterface
    interface PathFilter {

        /** The path for the backend. */
        String apply(String rawPath, Map<String, String> variables);
    }
}
