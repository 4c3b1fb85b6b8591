package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.engine.Route;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A route that the compiled door serves.
 *
 * @param route what the engine needs
 * @param matcher its predicates
 * @param path its filters on the path, in their order
 * @param pathVariables whether one of them wants the path's variables
 * @param request its filters on the request's head, in their order
 * @param response its filters on the answer's head, in their order
 * @param preserveHost whether the backend sees the caller's {@code Host}
 */
public record CompiledRoute(
        Route route,
        RouteMatcher matcher,
        List<PathFilter> path,
        boolean pathVariables,
        List<Consumer<HttpHeaders>> request,
        List<Consumer<HttpHeaders>> response,
        boolean preserveHost) {

    /** A filter on the raw path. */
    @FunctionalInterface
    interface PathFilter {

        /** The path that the backend is asked for. */
        String apply(String rawPath, Map<String, String> variables);
    }
}
