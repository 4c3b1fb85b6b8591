package io.weir.live;

import io.weir.config.WeirProperties;
import io.weir.door.LiveRoutes;
import io.weir.door.Routes;
import io.weir.engine.Route;
import io.weir.engine.RouteObserver;
import io.weir.metrics.EdgeMeters;
import io.weir.reload.LiveConfiguration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.event.RefreshRoutesEvent;
import org.springframework.context.ApplicationEventPublisher;

/**
 * Puts a configuration in the place of another one: first all is made that can fail, and nothing of what is in force is changed; if
 * something fails, what was made is taken back. Then parts that stay are changed in place, and what requests see changes with one write.
 * From there on nothing turns back: whatever somebody who is told of it throws is logged, and the change stands.
 */
public final class ConfigurationApplier implements LiveConfiguration.Target {

    private static final Logger log = LoggerFactory.getLogger(ConfigurationApplier.class);

    private final BackendFactory backends;
    private final RoutesFactory routes;
    private final LiveRoutes live;
    private final RetiredGenerations retirement;
    private final EdgeMeters edge;
    private final GatewayProperties shown;
    private final ApplicationEventPublisher events;
    /** Of the routes that were put in force last; changes come one after the other. */
    private RoutesFactory.@Nullable Plan last;

    /**
     * A swap.
     *
     * @param shown Spring Cloud Gateway's properties, as its own parts know them
     * @param events tells its own parts that routes are others
     */
    public ConfigurationApplier(
            BackendFactory backends,
            RoutesFactory routes,
            LiveRoutes live,
            RetiredGenerations retirement,
            EdgeMeters edge,
            GatewayProperties shown,
            ApplicationEventPublisher events) {
        this.backends = backends;
        this.routes = routes;
        this.live = live;
        this.retirement = retirement;
        this.edge = edge;
        this.shown = shown;
        this.events = events;
    }

    /** The routes that a gateway starts with. */
    public static Routes first(
            BackendFactory backends, RoutesFactory routes, WeirProperties weir, GatewayProperties gateway) {
        RoutesFactory.Plan plannedRoutes = routes.plan(gateway);
        BackendFactory.Plan plannedBackends = backends.plan(weir.backends());
        Routes first = routes.create(plannedRoutes, weir.routes(), plannedBackends.backends(), null, Runnable::run);
        backends.commit(plannedBackends, left -> {});
        return first;
    }

    @Override
    public void apply(WeirProperties weir, GatewayProperties gateway) {
        RoutesFactory.Plan plannedRoutes = routes.plan(gateway);
        BackendFactory.Plan plannedBackends = backends.plan(weir.backends());
        Routes before = live.get();
        List<Runnable> inPlace = new ArrayList<>();
        Routes next;
        try {
            next = routes.create(plannedRoutes, weir.routes(), plannedBackends.backends(), before, inPlace::add);
        } catch (RuntimeException e) {
            plannedBackends.drop();
            throw e;
        }
        List<RetiredGenerations.RetiredResource> leaving = new ArrayList<>();
        backends.commit(plannedBackends, leaving::add);
        inPlace.forEach(step -> anyway("a route's limit or meters", step));
        live.swap(next);

        leaving.addAll(observers(before, next));
        anyway("what is left behind", () -> retirement.retire(before, leaving));
        anyway(
                "the meters of routes that are gone",
                () -> edge.retain(next.views().stream().map(view -> view.id()).collect(Collectors.toSet())));
        shown.setRoutes(gateway.getRoutes());
        shown.setDefaultFilters(gateway.getDefaultFilters());
        if (plannedRoutes != last) {
            last = plannedRoutes;
            anyway("somebody who listens for other routes", () -> events.publishEvent(new RefreshRoutesEvent(this)));
        }
    }

    /** A step that stops nothing if it fails, in whatever way: with the others done, and this one, the configuration is in force. */
    static void anyway(String what, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            log.error("In a change of the configuration, {} failed; the rest of it is done", what, e);
        }
    }

    private static List<RetiredGenerations.RetiredResource> observers(Routes before, Routes next) {
        Set<RouteObserver> kept = Collections.newSetFromMap(new IdentityHashMap<>());
        next.byId().values().forEach(route -> kept.add(route.observer()));
        List<RetiredGenerations.RetiredResource> leaving = new ArrayList<>();
        for (Route route : before.byId().values()) {
            if (!kept.contains(route.observer()) && route.observer() instanceof Recorder.OfRoute gone) {
                leaving.add(new RetiredGenerations.RetiredResource(gone, gone.meters()::close));
            }
        }
        return leaving;
    }
}
