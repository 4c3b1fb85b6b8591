package io.weir.live;

import io.weir.config.RouteProperties;
import io.weir.door.BackendRoutingFilter;
import io.weir.door.CompiledRoute;
import io.weir.door.FrontDoor;
import io.weir.door.RouteCompiler;
import io.weir.door.RouteMatcher;
import io.weir.door.RouteTable;
import io.weir.door.RouteView;
import io.weir.door.Routes;
import io.weir.engine.Backend;
import io.weir.engine.InFlightCounter;
import io.weir.engine.Mode;
import io.weir.engine.Route;
import io.weir.engine.RouteObserver;
import io.weir.fallback.Fallback;
import io.weir.fallback.FallbackProperties;
import io.weir.limit.QueueingBulkhead;
import io.weir.retry.RetryPolicy;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.route.RouteDefinition;

/** Makes {@link Routes} of Spring Cloud Gateway's routes and Weir's properties for them. */
public final class RoutesFactory {

    /** Makes a route's observer, which needs to know the route's door. */
    public interface Observers {

        /**
         * The observer of a route: that of before, left as it is, or another one.
         *
         * @param before that of the route with this id in the routes before; null: there was none
         */
        RouteObserver of(
                String route,
                Backend backend,
                String door,
                @Nullable QueueingBulkhead limit,
                @Nullable RouteObserver before);

        /** The observer of before goes on with another cap on calls; null: with none. */
        void follow(RouteObserver observer, @Nullable QueueingBulkhead limit);

        /** Nothing comes of an observer that was made. */
        void drop(RouteObserver observer);
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

    private final GeneralRoutesFactory general;
    private final RouteCompiler compiler;
    private final Observers observers;
    /** The last that was planned; guarded by this. */
    private @Nullable Plan last;

    /** A factory. */
    public RoutesFactory(GeneralRoutesFactory general, RouteCompiler compiler, Observers observers) {
        this.general = general;
        this.compiler = compiler;
        this.observers = observers;
    }

    /** Routes in the making: all that can fail has not, and nothing has been changed yet. */
    public static final class Plan {

        private final GeneralRoutesFactory.Made made;
        private final List<Planned> routes = new ArrayList<>();

        private Plan(GeneralRoutesFactory.Made made) {
            this.made = made;
        }
    }

    private record Planned(Source source, RouteCompiler.@Nullable Compilation compilation) {}

    /**
     * Plans routes; the plan of before if they are the same.
     *
     * @throws RuntimeException if one cannot be made
     */
    public synchronized Plan plan(GatewayProperties properties) {
        GeneralRoutesFactory.Made made = general.create(properties);
        Plan before = last;
        if (before != null && before.made.equals(made)) {
            return before;
        }
        Plan plan = new Plan(made);
        for (Source source : made.sources()) {
            RouteDefinition definition = source.definition();
            plan.routes.add(new Planned(
                    source, definition == null ? null : compiler.compile(definition, properties.getDefaultFilters())));
        }
        last = plan;
        return plan;
    }

    /**
     * Makes routes as they were planned, and changes nothing of those before. Where there was a route with the same id, its limits are
     * to be changed in place, with the permits that are out, and its series go on.
     *
     * @param properties Weir's for single routes, by id
     * @param backends the backends, by name
     * @param before the routes that these follow; null: none
     * @param inPlace takes what is to be done to what stays, when these are put in force
     * @throws RuntimeException if one cannot be made; then nothing of them is left
     */
    public Routes create(
            Plan plan,
            Map<String, RouteProperties> properties,
            Map<String, Backend> backends,
            @Nullable Routes before,
            Consumer<Runnable> inPlace) {
        Making making = new Making(properties, backends, before, inPlace);
        try {
            return making.routes(plan);
        } catch (RuntimeException e) {
            making.observed.forEach(observers::drop);
            throw e;
        }
    }

    /** Routes in the making. */
    private final class Making {

        private final Map<String, RouteProperties> properties;
        private final Map<String, Backend> backends;
        private final @Nullable Routes before;
        private final Consumer<Runnable> inPlace;
        /** The observers that were made for them. */
        private final List<RouteObserver> observed = new ArrayList<>();

        Making(
                Map<String, RouteProperties> properties,
                Map<String, Backend> backends,
                @Nullable Routes before,
                Consumer<Runnable> inPlace) {
            this.properties = properties;
            this.backends = backends;
            this.before = before;
            this.inPlace = inPlace;
        }

        Routes routes(Plan plan) {
            List<RouteTable.Entry> entries = new ArrayList<>();
            Map<String, Route> byId = new LinkedHashMap<>();
            List<RouteView> views = new ArrayList<>();
            for (Planned planned : plan.routes) {
                Source source = planned.source();
                RouteCompiler.Compilation compilation = planned.compilation();
                String reason = whyGeneral(source, compilation);
                Backend backend = backend(source.uri(), backends);
                Route route = backend == null ? null : route(source.id(), backend, reason == null);
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
            return new Routes(
                    new RouteTable(entries),
                    byId,
                    backends,
                    List.copyOf(views),
                    plan.made.general(),
                    new InFlightCounter());
        }

        private Route route(String id, Backend backend, boolean compiled) {
            RouteProperties own = properties.getOrDefault(id, NOTHING);
            Route known = before == null ? null : before.route(id);
            Duration deadline = own.deadline();
            QueueingBulkhead limit = limit(own.maxConcurrentCalls(), known == null ? null : known.limit());
            FallbackProperties fallback = own.fallback();
            String other = fallback == null ? null : fallback.backend();
            return new Route(
                    id,
                    backend,
                    deadline == null ? backend.settings().deadlineNanos() : deadline.toNanos(),
                    own.mode(),
                    limit,
                    own.retry() == null ? null : new RetryPolicy(own.retry()),
                    fallback == null ? null : fallback(fallback, known == null ? null : known.fallback()),
                    other == null ? null : backends.get(other),
                    observer(id, backend, compiled, limit, known == null ? null : known.observer()),
                    new InFlightCounter());
        }

        private RouteObserver observer(
                String id,
                Backend backend,
                boolean compiled,
                @Nullable QueueingBulkhead limit,
                @Nullable RouteObserver known) {
            String door = compiled ? FrontDoor.COMPILED : FrontDoor.GENERAL;
            RouteObserver observer = observers.of(id, backend, door, limit, known);
            if (observer == known) {
                inPlace.accept(() -> observers.follow(observer, limit));
            } else {
                observed.add(observer);
            }
            return observer;
        }

        private @Nullable QueueingBulkhead limit(@Nullable Integer calls, @Nullable QueueingBulkhead known) {
            if (calls == null) {
                return null;
            }
            if (known == null) {
                return new QueueingBulkhead(calls, 0);
            }
            inPlace.accept(() -> known.resize(calls, 0));
            return known;
        }

        private Fallback fallback(FallbackProperties own, @Nullable Fallback known) {
            if (known == null) {
                return new Fallback(own);
            }
            inPlace.accept(() -> known.limit().resize(own.maxConcurrentCalls(), 0));
            return new Fallback(own, known.limit());
        }
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

    private static final RouteProperties NOTHING = new RouteProperties(null, Mode.REQUEST, null, null, null);
}
