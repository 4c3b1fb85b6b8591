package io.weir.apply;

import io.weir.authentication.Issuer;
import io.weir.authentication.Issuers;
import io.weir.config.WeirProperties;
import io.weir.door.LiveRoutes;
import io.weir.door.Routes;
import io.weir.metrics.EdgeMeters;
import io.weir.reload.ConfigurationTarget;
import io.weir.reload.LiveConfiguration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.config.GatewayProperties;

/**
 * Replaces the configuration in force by another one, in three phases: plan, commit, retire.
 *
 * <p>Planning executes every step that can fail and rolls all of them back if one fails. Committing changes
 * the shared parts in place and then publishes the new routes with one write. A failure in the commit or
 * after it, such as one of a listener, is logged and does not stop the other steps.
 */
public final class ConfigurationApplier implements ConfigurationTarget {

    private final LiveBackends backends;
    private final RoutesFactory routes;
    private final Issuers issuers;
    private final LiveRoutes liveRoutes;
    private final RetiredGenerations retiredGenerations;
    private final EdgeMeters edgeMeters;
    private final SpringCloudGateway springCloudGateway;
    /** The plan of the routes in force. Not synchronized: {@link LiveConfiguration} serialises changes. */
    private RoutesFactory.@Nullable Plan lastPlan;

    /** An applier; {@code liveRoutes} already has the {@linkplain #initialRoutes initial routes}. */
    public ConfigurationApplier(
            LiveBackends backends,
            RoutesFactory routes,
            Issuers issuers,
            LiveRoutes liveRoutes,
            RetiredGenerations retiredGenerations,
            EdgeMeters edgeMeters,
            SpringCloudGateway springCloudGateway) {
        this.backends = backends;
        this.routes = routes;
        this.issuers = issuers;
        this.liveRoutes = liveRoutes;
        this.retiredGenerations = retiredGenerations;
        this.edgeMeters = edgeMeters;
        this.springCloudGateway = springCloudGateway;
    }

    /** Creates the routes that the gateway starts with, and their backends. */
    public static Routes initialRoutes(
            LiveBackends backends,
            RoutesFactory routes,
            Issuers issuers,
            WeirProperties weir,
            GatewayProperties gateway) {
        try (Preparation _ = backends.prepare(weir.backends())) {
            Plan plan = plan(backends, routes, issuers, weir, gateway, null);
            backends.commit(plan.backends(), retired -> {});
            issuers.commit(plan.issuers());
            plan.changesInPlace().forEach(Runnable::run);
            return plan.next();
        }
    }

    /** A planned configuration. */
    private record Plan(
            RoutesFactory.Plan routes,
            BackendPlan backends,
            Map<String, Issuer> issuers,
            Routes next,
            List<Runnable> changesInPlace) {}

    @Override
    public Preparation prepare(WeirProperties weir) {
        return backends.prepare(weir.backends());
    }

    @Override
    public void apply(WeirProperties weir, GatewayProperties gateway) {
        Routes before = liveRoutes.get();
        Plan plan = plan(backends, routes, issuers, weir, gateway, before);
        List<RetiredResource> retired = commit(plan);
        retire(before, plan.next(), retired);
        announce(plan, gateway);
    }

    @Override
    public void showOperatorsLimits(Set<String> names) {
        backends.showOperatorsLimits(names);
    }

    private static Plan plan(
            LiveBackends backends,
            RoutesFactory routes,
            Issuers issuers,
            WeirProperties weir,
            GatewayProperties gateway,
            @Nullable Routes before) {
        RoutesFactory.Plan routePlan = routes.plan(gateway);
        BackendPlan backendPlan = backends.plan(weir.backends());
        List<Runnable> changesInPlace = new ArrayList<>();
        try {
            Map<String, Issuer> planned = issuers.plan(weir.authentication());
            Routes next = routes.create(routePlan, weir, planned, backendPlan.backends(), before, changesInPlace::add);
            return new Plan(routePlan, backendPlan, planned, next, changesInPlace);
        } catch (RuntimeException e) {
            backendPlan.rollBack();
            throw e;
        }
    }

    private List<RetiredResource> commit(Plan plan) {
        List<RetiredResource> retired = new ArrayList<>();
        backends.commit(plan.backends(), retired::add);
        LoggedStep.run("changing the issuers of tokens", () -> issuers.commit(plan.issuers()));
        plan.changesInPlace().forEach(change -> LoggedStep.run("changing a route's limit or meters", change));
        liveRoutes.swap(plan.next());
        return retired;
    }

    private void retire(Routes before, Routes next, List<RetiredResource> retired) {
        retired.addAll(RouteRecorders.unusedAfter(before, next));
        LoggedStep.run("retiring the replaced configuration", () -> retiredGenerations.retire(before, retired));
        LoggedStep.run(
                "removing the meters of deleted routes",
                () -> edgeMeters.retain(
                        next.views().stream().map(view -> view.id()).collect(Collectors.toSet())));
    }

    private void announce(Plan plan, GatewayProperties gateway) {
        springCloudGateway.show(gateway);
        if (plan.routes() != lastPlan) {
            lastPlan = plan.routes();
            LoggedStep.run(
                    "notifying the listeners of changed routes", () -> springCloudGateway.publishRoutesChanged(this));
        }
    }
}
