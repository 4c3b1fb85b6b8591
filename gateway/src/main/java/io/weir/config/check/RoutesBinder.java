package io.weir.config.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationPropertiesBindHandlerAdvisor;
import org.springframework.boot.context.properties.bind.AbstractBindHandler;
import org.springframework.boot.context.properties.bind.BindContext;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.BindResult;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.PropertySourcesPlaceholdersResolver;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyCaching;
import org.springframework.boot.context.properties.source.ConfigurationPropertyCaching.CacheOverride;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.ConfigurationPropertyState;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.core.env.Environment;
import org.springframework.util.function.SingletonSupplier;

/**
 * Binds Spring Cloud Gateway's properties with Spring Boot's binder, in a time that is proportional to the
 * number of routes.
 *
 * <p>For each list and each map in a route, Spring Boot's binder reads the names of all properties: the time
 * grows with the square of the number of routes. While this class binds a route, the property sources list
 * only the names of this route. The values, their origins, the order of the sources and the errors remain
 * Spring Boot's.
 */
// Concurrency: a binder is used by one thread.
public final class RoutesBinder {

    private static final ConfigurationPropertyName GATEWAY = ConfigurationPropertyName.of(GatewayProperties.PREFIX);
    private static final ConfigurationPropertyName ROUTES = GATEWAY.append("routes");
    private static final int ROUTE_ELEMENTS = ROUTES.getNumberOfElements() + 1;

    private final Binder binder;
    private final ConfigurationPropertyCaching caching;
    /** The route that is being bound; null: none. */
    private @Nullable ConfigurationPropertyName route;

    /** A binder of the properties in an environment. */
    RoutesBinder(Environment environment) {
        this(environment, ConfigurationPropertySources.get(environment));
    }

    RoutesBinder(Environment environment, Iterable<ConfigurationPropertySource> sources) {
        List<ConfigurationPropertySource> narrowed = new ArrayList<>();
        sources.forEach(source -> narrowed.add(
                source instanceof IterableConfigurationPropertySource iterable
                        ? new NarrowedSource(iterable)
                        : source));
        caching = ConfigurationPropertyCaching.get(sources);
        binder = new Binder(narrowed, new PropertySourcesPlaceholdersResolver(environment));
    }

    /** Makes Spring Boot bind Spring Cloud Gateway's properties in this way at a start. */
    public static ConfigurationPropertiesBindHandlerAdvisor advisor(Environment environment) {
        return handler -> new AbstractBindHandler(handler) {

            @Override
            public <T> @Nullable Bindable<T> onStart(
                    ConfigurationPropertyName name, Bindable<T> target, BindContext context) {
                if (!name.equals(GATEWAY)) {
                    return super.onStart(name, target, context);
                }
                new RoutesBinder(environment, context.getSources()).bind(name, target, handler);
                return null;
            }

            @Override
            public void onFinish(
                    ConfigurationPropertyName name, Bindable<?> target, BindContext context, @Nullable Object result)
                    throws Exception {
                if (!name.equals(GATEWAY)) {
                    super.onFinish(name, target, context, result);
                }
            }
        };
    }

    /** Spring Cloud Gateway's properties. */
    GatewayProperties gateway() {
        return bind(GATEWAY, Bindable.of(GatewayProperties.class)).orElseGet(GatewayProperties::new);
    }

    /** Binds a property, such as a filter of a route. */
    <T> BindResult<T> bind(ConfigurationPropertyName name, Bindable<T> target) {
        return bind(name, target, BindHandler.DEFAULT);
    }

    private <T> BindResult<T> bind(ConfigurationPropertyName name, Bindable<T> target, BindHandler handler) {
        // As Spring Boot's binder does, which does not see the sources behind the narrowed ones.
        try (CacheOverride _ = caching.override()) {
            return binder.bind(name, target, new RouteTracker(handler));
        }
    }

    /** Notes which route is being bound. */
    private final class RouteTracker extends AbstractBindHandler {

        RouteTracker(BindHandler parent) {
            super(parent);
        }

        @Override
        public <T> @Nullable Bindable<T> onStart(
                ConfigurationPropertyName name, Bindable<T> target, BindContext context) {
            route = ROUTES.isAncestorOf(name) ? name.chop(ROUTE_ELEMENTS) : null;
            return super.onStart(name, target, context);
        }

        @Override
        public void onFinish(
                ConfigurationPropertyName name, Bindable<?> target, BindContext context, @Nullable Object result)
                throws Exception {
            if (Objects.equals(name, route)) {
                route = null;
            }
            super.onFinish(name, target, context, result);
        }
    }

    /** A property source that lists only the names of the route that is being bound. */
    private final class NarrowedSource implements IterableConfigurationPropertySource {

        private final IterableConfigurationPropertySource source;
        private final Supplier<Map<ConfigurationPropertyName, List<ConfigurationPropertyName>>> namesByRoute =
                SingletonSupplier.of(this::findNamesByRoute);

        NarrowedSource(IterableConfigurationPropertySource source) {
            this.source = source;
        }

        private Map<ConfigurationPropertyName, List<ConfigurationPropertyName>> findNamesByRoute() {
            Map<ConfigurationPropertyName, List<ConfigurationPropertyName>> names = new HashMap<>();
            for (ConfigurationPropertyName name : source) {
                if (ROUTES.isAncestorOf(name)) {
                    names.computeIfAbsent(name.chop(ROUTE_ELEMENTS), any -> new ArrayList<>())
                            .add(name);
                }
            }
            return names;
        }

        @Override
        public Stream<ConfigurationPropertyName> stream() {
            return route == null ? source.stream() : namesByRoute.get().getOrDefault(route, List.of()).stream();
        }

        @Override
        public @Nullable ConfigurationProperty getConfigurationProperty(ConfigurationPropertyName name) {
            return source.getConfigurationProperty(name);
        }

        @Override
        public ConfigurationPropertyState containsDescendantOf(ConfigurationPropertyName name) {
            return source.containsDescendantOf(name);
        }

        @Override
        public @Nullable Object getUnderlyingSource() {
            return source.getUnderlyingSource();
        }
    }
}
