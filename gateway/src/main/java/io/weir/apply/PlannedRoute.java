package io.weir.apply;

import io.weir.apply.GeneralRoutesFactory.RouteSource;
import io.weir.door.AnswerRules;
import io.weir.door.BackendRoutingFilter;
import io.weir.door.CompiledRoute;
import io.weir.door.RouteCompiler;
import io.weir.door.RouteMatcher;
import io.weir.door.RouteTable;
import io.weir.door.RouteView;
import io.weir.door.WeightedGroups;
import io.weir.engine.Route;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A route that is matched and compiled, but not yet connected to its backend.
 *
 * @param compilation null: the route was made in code
 */
record PlannedRoute(RouteSource source, RouteCompiler.@Nullable Compilation compilation) {

    /** Only Spring Cloud Gateway can match a route that was created in code: it may match any request. */
    private static final RouteMatcher ANY_REQUEST = new RouteMatcher(List.of(), List.of(), List.of(), false);

    /** The reason why the general door serves the route; null: the compiled door serves it. */
    @Nullable
    String whyGeneral() {
        String scheme = source.uri().getScheme();
        if (!BackendRoutingFilter.SCHEME.equals(scheme)) {
            return "leads to " + scheme + "://, not to a backend";
        }
        return compilation == null ? "made in code" : compilation.why();
    }

    /** The predicates as configured; empty: the route was made in code. */
    List<RouteView.Written> predicates() {
        return compilation == null ? List.of() : compilation.written();
    }

    RouteTable.Entry entry(@Nullable Route route, boolean compiled, boolean preservePath, AnswerRules answers) {
        if (compilation == null) {
            return new RouteTable.Entry(source.id(), ANY_REQUEST, List.of(), null);
        }
        List<String> groups =
                compilation.weights().stream().map(WeightedGroups.Member::group).toList();
        if (!compiled || route == null) {
            return new RouteTable.Entry(source.id(), compilation.matcher(), groups, null);
        }
        return new RouteTable.Entry(
                source.id(),
                compilation.matcher(),
                groups,
                new CompiledRoute(
                        route,
                        compilation.matcher(),
                        compilation.path(),
                        compilation.usesPathVariables(),
                        compilation.request(),
                        compilation.response(),
                        compilation.preserveHost(),
                        preservePath,
                        answers));
    }
}
