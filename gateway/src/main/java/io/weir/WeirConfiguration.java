package io.weir;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.weir.config.WeirProperties;
import io.weir.door.BackendAnswerFilter;
import io.weir.door.BackendRoutingFilter;
import io.weir.door.FrontDoor;
import io.weir.door.GeneralDoor;
import io.weir.door.RefusalHandler;
import io.weir.door.RouteCompiler;
import io.weir.door.Routes;
import io.weir.door.RoutesFactory;
import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.engine.Limits;
import io.weir.engine.RouteObserver;
import io.weir.overload.OverloadGuard;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.stream.Collectors;
import javax.net.ssl.SSLException;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.filter.factory.GatewayFilterFactory;
import org.springframework.cloud.gateway.handler.predicate.RoutePredicateFactory;
import org.springframework.cloud.gateway.route.RouteDefinition;
import org.springframework.cloud.gateway.route.RouteDefinitionLocator;
import org.springframework.cloud.gateway.route.RouteLocator;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.http.client.ReactorResourceFactory;
import org.springframework.http.server.reactive.HttpHandler;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;

/** The one place where the parts are put together. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(WeirProperties.class)
class WeirConfiguration {

    @Bean
    Drain drain() {
        return new Drain();
    }

    @Bean
    OverloadGuard overloadGuard(WeirProperties properties) {
        return new OverloadGuard(properties.overload());
    }

    @Bean
    Engine engine(WeirProperties properties, Drain drain, OverloadGuard guard) {
        Limits limits = new Limits(
                properties.edge().maxBodySize().toBytes(),
                properties.edge().bodyIdleTimeout().toNanos(),
                properties.edge().readIdleTimeout().toNanos());
        return new Engine(
                System::nanoTime, () -> ThreadLocalRandom.current().nextDouble(), drain, guard, limits);
    }

    @Bean
    BackendFactory backendFactory(
            CircuitBreakerRegistry breakers,
            BulkheadRegistry bulkheads,
            ReactorResourceFactory resources,
            SslBundles bundles) {
        return new BackendFactory(
                breakers, bulkheads, resources.getLoopResources(), name -> sslContext(bundles.getBundle(name)));
    }

    private static SslContext sslContext(SslBundle bundle) {
        try {
            return SslContextBuilder.forClient()
                    .keyManager(bundle.getManagers().getKeyManagerFactory())
                    .trustManager(bundle.getManagers().getTrustManagerFactory())
                    .build();
        } catch (SSLException e) {
            throw new IllegalStateException("an SSL bundle that cannot be used: " + e.getMessage(), e);
        }
    }

    @Bean
    RouteCompiler routeCompiler(
            List<RoutePredicateFactory<?>> predicates,
            List<GatewayFilterFactory<?>> filters,
            ConfigurationService configuration,
            Environment environment) {
        return new RouteCompiler(
                predicates.stream().collect(Collectors.toMap(RoutePredicateFactory::name, Function.identity())),
                filters.stream().collect(Collectors.toMap(GatewayFilterFactory::name, Function.identity())),
                configuration,
                environment.getProperty(
                        "spring.cloud.gateway.server.webflux.predicate.host.include-port", Boolean.class, true));
    }

    @Bean
    Routes routes(
            WeirProperties properties,
            BackendFactory factory,
            RouteCompiler compiler,
            RouteLocator locator,
            RouteDefinitionLocator definitions,
            GatewayProperties gateway) {
        Map<String, Backend> backends = new LinkedHashMap<>();
        properties.backends().forEach((name, backend) -> backends.put(name, factory.create(name, backend)));
        Map<String, RouteDefinition> byId = new LinkedHashMap<>();
        for (RouteDefinition definition : definitions.getRouteDefinitions().toIterable()) {
            byId.put(String.valueOf(definition.getId()), definition);
        }
        List<RoutesFactory.Source> sources = new ArrayList<>();
        for (org.springframework.cloud.gateway.route.Route route :
                locator.getRoutes().toIterable()) {
            sources.add(new RoutesFactory.Source(route.getId(), route.getUri(), byId.get(route.getId())));
        }
        return new RoutesFactory(compiler, (route, backend, door, limit) -> RouteObserver.NONE)
                .create(sources, gateway.getDefaultFilters(), properties.routes(), backends);
    }

    @Bean
    GeneralDoor generalDoor(WeirProperties properties) {
        return new GeneralDoor(properties.edge().serverTiming());
    }

    @Bean
    BackendRoutingFilter backendRoutingFilter(Engine engine, GeneralDoor door) {
        return new BackendRoutingFilter(engine, door);
    }

    @Bean
    BackendAnswerFilter backendAnswerFilter() {
        return new BackendAnswerFilter();
    }

    @Bean
    RefusalHandler refusalHandler(GeneralDoor door) {
        return new RefusalHandler(door, (refusal, facts) -> {});
    }

    /** In place of Spring Boot's: the front door comes before WebFlux's own handler. */
    @Bean
    HttpHandler httpHandler(
            ApplicationContext context,
            Engine engine,
            Routes routes,
            GeneralDoor generalDoor,
            WeirProperties properties) {
        return new FrontDoor(
                WebHttpHandlerBuilder.applicationContext(context).build(),
                engine,
                () -> routes,
                generalDoor,
                properties.edge(),
                (refusal, facts) -> {});
    }
}
