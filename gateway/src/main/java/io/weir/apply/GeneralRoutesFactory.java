package io.weir.apply;

import io.weir.door.BackendRoutingFilter;
import io.weir.door.LiveRoutes;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.config.PropertiesRouteDefinitionLocator;
import org.springframework.cloud.gateway.event.PredicateArgsEvent;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.filter.factory.GatewayFilterFactory;
import org.springframework.cloud.gateway.handler.predicate.RoutePredicateFactory;
import org.springframework.cloud.gateway.route.CompositeRouteDefinitionLocator;
import org.springframework.cloud.gateway.route.Route;
import org.springframework.cloud.gateway.route.RouteDefinition;
import org.springframework.cloud.gateway.route.RouteDefinitionLocator;
import org.springframework.cloud.gateway.route.RouteDefinitionRouteLocator;
import org.springframework.cloud.gateway.route.RouteLocator;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.context.ApplicationContext;
import org.springframework.core.annotation.AnnotationAwareOrderComparator;
import org.springframework.core.convert.ConversionService;
import org.springframework.validation.Validator;
import reactor.core.publisher.Flux;

/**
 * Creates Spring Cloud Gateway's own routes from its properties, without putting them in force.
 *
 * <p>It uses Spring Cloud Gateway's locators and factories directly. The framework's refresh event would put
 * the routes in force on another thread, at an unknown moment.
 */
public final class GeneralRoutesFactory {

    private static final String LOAD_BALANCED = "lb";

    private final ApplicationContext context;
    private final ConversionService conversion;
    /** The most recent result; guarded by this. */
    private @Nullable Result lastResult;

    /**
     * A factory.
     *
     * @param context contains Spring Cloud Gateway's factories, and the routes that do not come from
     *     properties
     * @param conversion WebFlux's conversion service
     */
    public GeneralRoutesFactory(ApplicationContext context, ConversionService conversion) {
        this.context = context;
        this.conversion = conversion;
    }

    /**
     * A route of Spring Cloud Gateway.
     *
     * @param id its id
     * @param uri its target
     * @param definition its definition; null: it was created in code, and only Spring Cloud Gateway can match
     *     it
     */
    record RouteSource(String id, URI uri, @Nullable RouteDefinition definition) {}

    /** Everything that determines the routes. */
    private record Inputs(
            List<RouteDefinition> definitions, List<FilterDefinition> defaultFilters, List<Route> routesFromCode) {}

    /**
     * The created routes.
     *
     * @param inputs the inputs of their creation
     * @param routes the routes as Spring Cloud Gateway matches them
     * @param sources the same routes with their definitions, in the same order
     */
    record Result(Inputs inputs, List<Route> routes, List<RouteSource> sources) {}

    /**
     * Creates the routes, in matching order. Returns the previous result if its inputs are equal.
     *
     * @throws RuntimeException if a route cannot be created
     */
    synchronized Result create(GatewayProperties properties) {
        Inputs inputs = inputs(properties);
        Result before = lastResult;
        if (before != null && inputs.equals(before.inputs())) {
            return before;
        }
        // Looked up once: Spring's search for a bean takes 40 % of the time of a binding.
        Validator validator = context.getBeanProvider(Validator.class).getIfAvailable();
        ConfigurationService configuration = new ConfigurationService(context, () -> conversion, () -> validator);
        configuration.setApplicationEventPublisher(event -> {
            // The weights of routes: WeightedGroups reads them from the definitions.
            if (!(event instanceof PredicateArgsEvent)) {
                context.publishEvent(event);
            }
        });
        List<Route> routes = new ArrayList<>(
                list(locator(inputs.definitions(), properties, configuration).getRoutes()));
        routes.addAll(inputs.routesFromCode());
        AnnotationAwareOrderComparator.sort(routes);
        Map<String, RouteDefinition> byId = new LinkedHashMap<>();
        inputs.definitions().forEach(definition -> byId.put(String.valueOf(definition.getId()), definition));
        Result result = new Result(
                inputs,
                List.copyOf(routes),
                routes.stream()
                        .map(route -> new RouteSource(route.getId(), route.getUri(), byId.get(route.getId())))
                        .toList());
        lastResult = result;
        return result;
    }

    private Inputs inputs(GatewayProperties properties) {
        Flux<RouteDefinitionLocator> otherLocators =
                Flux.fromStream(() -> context.getBeanProvider(RouteDefinitionLocator.class).stream()
                        .filter(locator -> !(locator instanceof PropertiesRouteDefinitionLocator
                                || locator instanceof CompositeRouteDefinitionLocator)));
        List<RouteDefinition> definitions = new ArrayList<>(list(new CompositeRouteDefinitionLocator(
                        Flux.concat(Flux.just(new PropertiesRouteDefinitionLocator(properties)), otherLocators))
                .getRouteDefinitions()));
        List<Route> routesFromCode = locatorsFromCode()
                .flatMap(locator -> list(locator.getRoutes()).stream())
                .map(GeneralRoutesFactory::ofBackend)
                .toList();
        definitions.replaceAll(GeneralRoutesFactory::ofBackend);
        return new Inputs(List.copyOf(definitions), List.copyOf(properties.getDefaultFilters()), routesFromCode);
    }

    /** A route to {@code lb://NAME} leads to the backend of that name, which balances its instances. */
    private static RouteDefinition ofBackend(RouteDefinition definition) {
        URI uri = definition.getUri();
        if (uri == null || !isBalanced(uri)) {
            return definition;
        }
        RouteDefinition copy = new RouteDefinition();
        String id = definition.getId();
        if (id != null) {
            copy.setId(id);
        }
        copy.setUri(ofBackend(uri));
        copy.setPredicates(definition.getPredicates());
        copy.setFilters(definition.getFilters());
        copy.setMetadata(definition.getMetadata());
        copy.setOrder(definition.getOrder());
        copy.setEnabled(definition.isEnabled());
        return copy;
    }

    private static Route ofBackend(Route route) {
        if (!isBalanced(route.getUri())) {
            return route;
        }
        return Route.async()
                .id(route.getId())
                .uri(ofBackend(route.getUri()))
                .order(route.getOrder())
                .metadata(route.getMetadata())
                .asyncPredicate(route.getPredicate())
                .filters(route.getFilters())
                .build();
    }

    private static boolean isBalanced(URI uri) {
        return LOAD_BALANCED.equalsIgnoreCase(uri.getScheme());
    }

    private static URI ofBackend(URI uri) {
        return URI.create(BackendRoutingFilter.SCHEME + ':' + uri.getRawSchemeSpecificPart());
    }

    private Stream<RouteLocator> locatorsFromCode() {
        return Stream.of(context.getBeanNamesForType(RouteLocator.class))
                // By type, not by instance: LiveRoutes is itself being created from these routes.
                .filter(name -> !LiveRoutes.class.equals(context.getType(name)))
                .map(name -> context.getBean(name, RouteLocator.class))
                .filter(locator -> !(locator instanceof RouteDefinitionRouteLocator));
    }

    @SuppressWarnings({"rawtypes", "unchecked"}) // Spring Cloud Gateway's constructor takes raw types.
    private RouteLocator locator(
            List<RouteDefinition> definitions, GatewayProperties properties, ConfigurationService configuration) {
        List<RoutePredicateFactory> predicates = context.getBeanProvider(RoutePredicateFactory.class)
                .orderedStream()
                .toList();
        List<GatewayFilterFactory> filters = context.getBeanProvider(GatewayFilterFactory.class)
                .orderedStream()
                .toList();
        return new RouteDefinitionRouteLocator(
                () -> Flux.fromIterable(definitions), predicates, filters, properties, configuration);
    }

    /** Blocks only for publishers over lists in memory. */
    private static <T> List<T> list(Flux<T> flux) {
        return Objects.requireNonNull(flux.collectList().block());
    }
}
