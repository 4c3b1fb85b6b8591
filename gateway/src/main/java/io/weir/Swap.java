package io.weir;

import io.weir.config.WeirProperties;
import io.weir.door.LiveRoutes;
import io.weir.door.Routes;
import io.weir.door.RoutesFactory;
import io.weir.engine.Backend;
import io.weir.engine.Route;
import io.weir.engine.RouteObserver;
import io.weir.observe.EdgeMeters;
import io.weir.reload.LiveConfiguration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.event.RefreshRoutesEvent;
import org.springframework.context.ApplicationEventPublisher;

/**
 * Puts a configuration in the place of another one: first all is planned that can fail, then nothing can, and what
 * requests see changes with one write.
 */
final class Swap implements LiveConfiguration.Target {

    private final BackendFactory backends;
    private final RoutesFactory routes;
    private final LiveRoutes live;
    private final Retirement retirement;
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
    Swap(
            BackendFactory backends,
            RoutesFactory routes,
            LiveRoutes live,
            Retirement retirement,
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
    static Routes first(BackendFactory backends, RoutesFactory routes, WeirProperties weir, GatewayProperties gateway) {
        RoutesFactory.Plan plan = routes.plan(gateway);
        Map<String, Backend> made = backends.create(backends.plan(weir.backends()), left -> {});
        return routes.create(plan, weir.routes(), made, null);
    }

    @Override
    public void swap(WeirProperties weir, GatewayProperties gateway) {
        RoutesFactory.Plan plannedRoutes = routes.plan(gateway);
        BackendFactory.Plan plannedBackends = backends.plan(weir.backends());
        Routes before = live.get();
        List<Retirement.Left> leaving = new ArrayList<>();
        Map<String, Backend> made = backends.create(plannedBackends, leaving::add);
        Routes next = routes.create(plannedRoutes, weir.routes(), made, before);
        live.swap(next);

        leaving.addAll(observers(before, next));
        edge.retain(next.views().stream().map(view -> view.id()).collect(Collectors.toSet()));
        retirement.retire(before, leaving);
        shown.setRoutes(gateway.getRoutes());
        shown.setDefaultFilters(gateway.getDefaultFilters());
        if (plannedRoutes != last) {
            last = plannedRoutes;
            events.publishEvent(new RefreshRoutesEvent(this));
        }
    }

    private static List<Retirement.Left> observers(Routes before, Routes next) {
        Set<RouteObserver> kept = Collections.newSetFromMap(new IdentityHashMap<>());
        next.byId().values().forEach(route -> kept.add(route.observer()));
        List<Retirement.Left> leaving = new ArrayList<>();
        for (Route route : before.byId().values()) {
            if (!kept.contains(route.observer()) && route.observer() instanceof Recorder.OfRoute gone) {
                leaving.add(new Retirement.Left(gone, gone.meters()::close));
            }
        }
        return leaving;
    }
}
