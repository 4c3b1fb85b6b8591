package io.weir.live;

import io.weir.door.GeneralRoutes;
import io.weir.door.LiveRoutes;
import io.weir.live.RoutesFactory.Source;
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
import org.springframework.cloud.gateway.filter.WeightCalculatorWebFilter;
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
 * Makes Spring Cloud Gateway's routes of its properties, by its own means, without putting them in force. Its own locator would do that
 * by an event, on a thread of its own, and at some moment.
 */
public final class GeneralRoutesFactory {

    private final ApplicationContext context;
    private final ConversionService conversion;
    /** The last that were made; guarded by this. */
    private @Nullable Made last;

    /**
     * A factory.
     *
     * @param context has Spring Cloud Gateway's factories, and the routes that do not come from properties
     * @param conversion WebFlux's
     */
    public GeneralRoutesFactory(ApplicationContext context, ConversionService conversion) {
        this.context = context;
        this.conversion = conversion;
    }

    /** All that routes are made of. */
    private record Inputs(
            List<RouteDefinition> definitions, List<FilterDefinition> defaultFilters, List<Route> ofCode) {}

    /** What was made of properties, and the definitions beside the routes. */
    record Made(Inputs inputs, GeneralRoutes general, List<Source> sources) {}

    /**
     * The routes, in the order in which they are tried; those of before if they are made of the same.
     *
     * @throws RuntimeException if one cannot be made
     */
    synchronized Made create(GatewayProperties properties) {
        Flux<RouteDefinitionLocator> elsewhere =
                Flux.fromStream(() -> context.getBeanProvider(RouteDefinitionLocator.class).stream()
                        .filter(locator -> !(locator instanceof PropertiesRouteDefinitionLocator
                                || locator instanceof CompositeRouteDefinitionLocator)));
        List<RouteDefinition> definitions = list(new CompositeRouteDefinitionLocator(
                        Flux.concat(Flux.just(new PropertiesRouteDefinitionLocator(properties)), elsewhere))
                .getRouteDefinitions());
        List<Route> ofCode = madeInCode()
                .flatMap(locator -> list(locator.getRoutes()).stream())
                .toList();
        Inputs inputs = new Inputs(definitions, List.copyOf(properties.getDefaultFilters()), ofCode);
        Made before = last;
        if (before != null && inputs.equals(before.inputs())) {
            return before;
        }
        ConfigurationService configuration = new ConfigurationService(
                context,
                () -> conversion,
                () -> context.getBeanProvider(Validator.class).getIfAvailable());
        WeightCalculatorWebFilter weights =
                new WeightCalculatorWebFilter(context.getBeanProvider(RouteLocator.class), configuration);
        configuration.setApplicationEventPublisher(event -> {
            if (event instanceof PredicateArgsEvent arguments) {
                weights.handle(arguments);
            } else {
                context.publishEvent(event);
            }
        });
        List<Route> routes = new ArrayList<>(
                list(locator(definitions, properties, configuration).getRoutes()));
        routes.addAll(ofCode);
        AnnotationAwareOrderComparator.sort(routes);
        Map<String, RouteDefinition> byId = new LinkedHashMap<>();
        definitions.forEach(definition -> byId.put(String.valueOf(definition.getId()), definition));
        Made made = new Made(
                inputs,
                new GeneralRoutes(List.copyOf(routes), weights),
                routes.stream()
                        .map(route -> new Source(route.getId(), route.getUri(), byId.get(route.getId())))
                        .toList());
        last = made;
        return made;
    }

    private Stream<RouteLocator> madeInCode() {
        return Stream.of(context.getBeanNamesForType(RouteLocator.class))
                // Asked by its type, since it is being made of these.
                .filter(name -> !LiveRoutes.class.equals(context.getType(name)))
                .map(name -> context.getBean(name, RouteLocator.class))
                .filter(locator -> !(locator instanceof RouteDefinitionRouteLocator));
    }

    @SuppressWarnings({"rawtypes", "unchecked"}) // As Spring Cloud Gateway takes them.
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

    /** All that there is to come is there already. */
    private static <T> List<T> list(Flux<T> flux) {
        return Objects.requireNonNull(flux.collectList().block());
    }
}
