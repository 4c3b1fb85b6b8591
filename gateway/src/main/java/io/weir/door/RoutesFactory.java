package io.weir.door;

import io.weir.bulkhead.QueueingBulkhead;
import io.weir.config.RouteProperties;
import io.weir.engine.Backend;
import io.weir.engine.Mode;
import io.weir.engine.Route;
import io.weir.engine.RouteObserver;
import io.weir.fallback.Fallback;
import io.weir.fallback.FallbackProperties;
import io.weir.observe.Gateway.RouteView;
import io.weir.retry.RetryPolicy;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.route.RouteDefinition;

/** Makes {@link Routes} of Spring Cloud Gateway's routes and Weir's properties for them. */
public final class RoutesFactory {

    /** Makes a route's observer, which needs to know the route's door. */
    @FunctionalInterface
    public interface Observers {

        /** The observer of a route. */
        RouteObserver of(String route, Backend backend, String door, @Nullable QueueingBulkhead limit);
    }

    /**
     * One of Spring Cloud Gateway's routes.
     *
     * @param id its id
     * @param uri where it leads
     * @param definition what it was made of; null: it was made in code, and only Spring Cloud Gateway can match it
     */
    public record Source(String id, URI uri, @Nullable RouteDefinition definition) {}

    private static final RouteMatcher ANYTHING = new RouteMatcher(List.of(), List.of(), List.of(), false);

    private final RouteCompiler compiler;
    private final Observers observers;

    /** A factory. */
    public RoutesFactory(RouteCompiler compiler, Observers observers) {
        this.compiler = compiler;
        this.observers = observers;
    }

    /**
     * The routes.
     *
     * @param sources Spring Cloud Gateway's routes, in the order in which they are tried
     * @param defaults its default filters
     * @param properties Weir's for single routes, by id
     * @param backends the backends, by name
     */
    public Routes create(
            List<Source> sources,
            List<FilterDefinition> defaults,
            Map<String, RouteProperties> properties,
            Map<String, Backend> backends) {
        List<RouteTable.Entry> entries = new ArrayList<>();
        Map<String, Route> byId = new LinkedHashMap<>();
        List<RouteView> views = new ArrayList<>();
        for (Source source : sources) {
            RouteDefinition definition = source.definition();
            RouteCompiler.Compilation compilation = definition == null ? null : compiler.compile(definition, defaults);
            String reason = whyGeneral(source, compilation);
            Backend backend = backend(source.uri(), backends);
            Route route = backend == null
                    ? null
                    : route(source.id(), backend, properties.get(source.id()), backends, reason == null);
            if (route != null) {
                byId.put(source.id(), route);
            }
            views.add(new RouteView(
                    source.id(),
                    backend == null ? null : backend.name(),
                    reason == null ? FrontDoor.COMPILED : FrontDoor.GENERAL,
                    reason));
            entries.add(entry(compilation, route, reason == null));
        }
        return new Routes(new RouteTable(entries), byId, backends, List.copyOf(views));
    }

    private static RouteTable.Entry entry(
            RouteCompiler.@Nullable Compilation compilation, @Nullable Route route, boolean compiled) {
        if (compilation == null) {
            return new RouteTable.Entry(ANYTHING, null);
        }
        if (!compiled || route == null) {
            return new RouteTable.Entry(compilation.matcher(), null);
        }
        return new RouteTable.Entry(
                compilation.matcher(),
                new CompiledRoute(
                        route,
                        compilation.matcher(),
                        compilation.path(),
                        compilation.pathVariables(),
                        compilation.request(),
                        compilation.response(),
                        compilation.preserveHost()));
    }

    private static @Nullable String whyGeneral(Source source, RouteCompiler.@Nullable Compilation compilation) {
        if (!BackendRoutingFilter.SCHEME.equals(source.uri().getScheme())) {
            return "leads to " + source.uri().getScheme() + "://, not to a backend";
        }
        return compilation == null ? "made in code" : compilation.why();
    }

    private static @Nullable Backend backend(URI uri, Map<String, Backend> backends) {
        return BackendRoutingFilter.SCHEME.equals(uri.getScheme()) ? backends.get(uri.getHost()) : null;
    }

    private Route route(
            String id,
            Backend backend,
            @Nullable RouteProperties given,
            Map<String, Backend> backends,
            boolean compiled) {
        RouteProperties properties = given == null ? NOTHING : given;
        Duration deadline = properties.deadline();
        Integer limit = properties.maxConcurrentCalls();
        QueueingBulkhead bulkhead = limit == null ? null : new QueueingBulkhead(limit, 0);
        FallbackProperties fallback = properties.fallback();
        String other = fallback == null ? null : fallback.backend();
        return new Route(
                id,
                backend,
                deadline == null ? backend.deadlineNanos() : deadline.toNanos(),
                properties.mode(),
                bulkhead,
                properties.retry() == null ? null : new RetryPolicy(properties.retry()),
                fallback == null ? null : new Fallback(fallback),
                other == null ? null : backends.get(other),
                observers.of(id, backend, compiled ? FrontDoor.COMPILED : FrontDoor.GENERAL, bulkhead));
    }

    private static final RouteProperties NOTHING = new RouteProperties(null, Mode.REQUEST, null, null, null);
}
