package io.weir.wiring;

import io.micrometer.observation.ObservationRegistry;
import io.weir.apply.ConfigurationApplier;
import io.weir.apply.GeneralRoutesFactory;
import io.weir.apply.LiveBackends;
import io.weir.apply.RouteRecorders;
import io.weir.apply.RoutesFactory;
import io.weir.authentication.Issuers;
import io.weir.cluster.GatewayCount;
import io.weir.compression.CompressionMemory;
import io.weir.config.WeirProperties;
import io.weir.config.check.RoutesBinder;
import io.weir.door.AddedParameterFilterFactory;
import io.weir.door.BackendAnswerFilter;
import io.weir.door.BackendRoutingFilter;
import io.weir.door.ForwardedFieldsFilter;
import io.weir.door.FrontDoor;
import io.weir.door.GeneralDoor;
import io.weir.door.HostPredicateFactory;
import io.weir.door.HttpsRedirect;
import io.weir.door.LiveRoutes;
import io.weir.door.PriorityHeader;
import io.weir.door.RefusalHandler;
import io.weir.door.RouteCompiler;
import io.weir.door.Routes;
import io.weir.door.WeirRoutePredicateHandlerMapping;
import io.weir.drain.Drain;
import io.weir.edge.ClientLimits;
import io.weir.edge.EdgeProperties;
import io.weir.edge.EdgeServerCustomizer;
import io.weir.edge.OpenFiles;
import io.weir.edge.VirtualHosts;
import io.weir.engine.Engine;
import io.weir.lastgood.LastGoodStore;
import io.weir.metrics.IssuerMeters;
import io.weir.metrics.LastGoodMeters;
import io.weir.metrics.MeterBook;
import io.weir.metrics.SharedRateLimitMeters;
import io.weir.overload.OverloadGuard;
import io.weir.ratelimit.RedisBuckets;
import io.weir.ratelimit.RedisClusterBuckets;
import io.weir.ratelimit.RedisCounter;
import io.weir.ratelimit.RedisProperties;
import io.weir.ratelimit.SharedBuckets;
import java.time.Clock;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.AnnotatedBeanDefinition;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.ConfigurationPropertiesBindHandlerAdvisor;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.autoconfigure.ServerProperties;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.config.GlobalCorsProperties;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.cloud.gateway.filter.factory.AddRequestParameterGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.GatewayFilterFactory;
import org.springframework.cloud.gateway.handler.FilteringWebHandler;
import org.springframework.cloud.gateway.handler.predicate.HostRoutePredicateFactory;
import org.springframework.cloud.gateway.handler.predicate.RoutePredicateFactory;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.core.convert.ConversionService;
import org.springframework.core.env.Environment;
import org.springframework.http.client.ReactorResourceFactory;
import org.springframework.util.StringUtils;
import org.springframework.validation.Validator;
import org.springframework.web.reactive.accept.ApiVersionStrategy;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;

/** Wires the server, the routes, and the two doors through which requests enter the engine. */
@Configuration(proxyBeanMethods = false)
class RoutingConfiguration {

    /** Filters of these packages have no effect that a compiled route lacks. */
    private static final List<String> OWN_PACKAGES = List.of(
            "org.springframework.cloud.gateway.", "org.springframework.boot.", "org.springframework.web.", "io.weir.");

    @Bean
    RouteCompiler routeCompiler(
            List<RoutePredicateFactory<?>> predicates,
            List<GatewayFilterFactory<?>> filters,
            @Qualifier("webFluxConversionService") ConversionService conversion,
            ObjectProvider<Validator> validators,
            GlobalCorsProperties cors,
            ConfigurableListableBeanFactory beans,
            Environment environment) {
        // Spring Cloud Gateway's own service looks up the validator at each binding, which takes 40 % of its
        // time.
        Validator validator = validators.getIfAvailable();
        return new RouteCompiler(
                predicates.stream().collect(Collectors.toMap(RoutePredicateFactory::name, Function.identity())),
                filters.stream().collect(Collectors.toMap(GatewayFilterFactory::name, Function.identity())),
                new ConfigurationService(beans, () -> conversion, () -> validator),
                whyNotCompiled(cors, beans, environment));
    }

    @Bean
    static ConfigurationPropertiesBindHandlerAdvisor routesBinding(Environment environment) {
        return RoutesBinder.advisor(environment);
    }

    /** Replaces Spring Cloud Gateway's own factory of the predicate Host. */
    @Bean
    static BeanPostProcessor hostPredicateReplacement(Environment environment) {
        return new BeanPostProcessor() {
            @Override
            public Object postProcessAfterInitialization(Object bean, String name) {
                return bean.getClass() == HostRoutePredicateFactory.class
                        ? new HostPredicateFactory(environment.getProperty(
                                "spring.cloud.gateway.server.webflux.predicate.host.include-port", Boolean.class, true))
                        : bean;
            }
        };
    }

    /** Replaces Spring Cloud Gateway's own factory of the filter AddRequestParameter. */
    @Bean
    static BeanPostProcessor addedParameterReplacement() {
        return new BeanPostProcessor() {
            @Override
            public Object postProcessAfterInitialization(Object bean, String name) {
                return bean.getClass() == AddRequestParameterGatewayFilterFactory.class
                        ? new AddedParameterFilterFactory()
                        : bean;
            }
        };
    }

    /**
     * The setting that makes Spring change every request, so that no route can be compiled; null: there is
     * none.
     */
    private static @Nullable String whyNotCompiled(
            GlobalCorsProperties cors, ConfigurableListableBeanFactory beans, Environment environment) {
        String foreign = foreignFilter(beans);
        if (foreign != null) {
            return foreign;
        }
        if (!cors.getCorsConfigurations().isEmpty()) {
            return "spring.cloud.gateway.server.webflux.globalcors is set";
        }
        return StringUtils.hasText(environment.getProperty("spring.webflux.base-path"))
                ? "spring.webflux.base-path is set"
                : null;
    }

    /**
     * A filter of an extension for all requests, by its bean's name; null: there is none. Compiled routes do
     * not run it, so that it could be missed where it protects something.
     */
    static @Nullable String foreignFilter(ConfigurableListableBeanFactory beans) {
        for (Class<?> kind : List.of(GlobalFilter.class, WebFilter.class)) {
            for (String name : beans.getBeanNamesForType(kind, true, false)) {
                if (OWN_PACKAGES.stream().noneMatch(origin(beans, name)::startsWith)) {
                    return kind.getSimpleName() + ' ' + name;
                }
            }
        }
        return null;
    }

    /** The class whose method makes a bean, or else the class of the bean. */
    private static String origin(ConfigurableListableBeanFactory beans, String name) {
        if (beans.containsBeanDefinition(name)
                && beans.getBeanDefinition(name) instanceof AnnotatedBeanDefinition annotated
                && annotated.getFactoryMethodMetadata() != null) {
            return annotated.getFactoryMethodMetadata().getDeclaringClassName();
        }
        Class<?> type = beans.getType(name, false);
        return type == null ? "" : type.getName();
    }

    /** Answers are put in place in the common pool: Caffeine's writers may wait, and no event loop may. */
    @Bean
    LastGoodStore lastGoodStore(WeirProperties properties, Engine engine, MeterBook meterBook) {
        LastGoodStore store = new LastGoodStore(
                properties.lastGood(), engine::nanoTime, System::currentTimeMillis, ForkJoinPool.commonPool());
        LastGoodMeters.show(meterBook, store);
        return store;
    }

    @Bean
    RoutesFactory routesFactory(
            ApplicationContext context,
            @Qualifier("webFluxConversionService") ConversionService conversion,
            RouteCompiler compiler,
            RouteRecorders recorders,
            Engine engine,
            WeirProperties properties,
            LastGoodStore lastGoodStore,
            ObjectProvider<SharedBuckets> sharedBuckets) {
        String priorityHeader = properties.edge().priorityHeader();
        return new RoutesFactory(
                new GeneralRoutesFactory(context, conversion),
                compiler,
                recorders,
                engine::nanoTime,
                new CompressionMemory(properties.edge().compressionMemory().toBytes()),
                lastGoodStore,
                priorityHeader == null ? "" : priorityHeader.toLowerCase(Locale.ROOT),
                sharedBuckets.getIfAvailable(),
                engine::giveBackPermits);
    }

    @Bean(destroyMethod = "close")
    Issuers issuers(MeterBook meterBook) {
        IssuerMeters meters = new IssuerMeters(meterBook);
        return new Issuers(
                Clock.systemUTC(),
                System::nanoTime,
                () -> ThreadLocalRandom.current().nextDouble(),
                meters::show);
    }

    /** Replaces Spring Cloud Gateway's own bean of this name, so that its parts use these routes too. */
    @Bean("cachedCompositeRouteLocator")
    @Primary
    LiveRoutes liveRoutes(
            WeirProperties properties,
            GatewayProperties gateway,
            LiveBackends backends,
            ObjectProvider<GatewayCount> gateways,
            RoutesFactory routes,
            Issuers issuers) {
        // The gateways are looked up while the backends' first addresses are. The first call meets backends
        // with this gateway's share.
        GatewayCount count = gateways.getIfAvailable();
        Routes initial = ConfigurationApplier.initialRoutes(backends, routes, issuers, properties, gateway);
        if (count != null) {
            count.awaitFirst(properties.cluster().initialGateways());
        }
        return new LiveRoutes(initial);
    }

    /** Replaces Spring Cloud Gateway's own handler mapping. */
    @Bean
    WeirRoutePredicateHandlerMapping routePredicateHandlerMapping(
            GeneralDoor door,
            FilteringWebHandler handler,
            LiveRoutes routes,
            GlobalCorsProperties cors,
            Environment environment,
            ObjectProvider<ApiVersionStrategy> apiVersions) {
        WeirRoutePredicateHandlerMapping mapping =
                new WeirRoutePredicateHandlerMapping(door, handler, routes, cors, environment);
        apiVersions.ifAvailable(mapping::setApiVersionStrategy);
        return mapping;
    }

    @Bean
    GeneralDoor generalDoor(WeirProperties properties, EdgeRecorder recorder, Engine engine) {
        return new GeneralDoor(properties.edge().serverTiming(), recorder, engine::nanoTime);
    }

    @Bean
    ForwardedFieldsFilter forwardedFieldsFilter(GeneralDoor door) {
        return new ForwardedFieldsFilter(door);
    }

    @Bean
    BackendRoutingFilter backendRoutingFilter(Engine engine, GeneralDoor door) {
        return new BackendRoutingFilter(engine, door);
    }

    @Bean
    BackendAnswerFilter backendAnswerFilter(GeneralDoor door) {
        return new BackendAnswerFilter(door);
    }

    @Bean
    RefusalHandler refusalHandler(GeneralDoor door) {
        return new RefusalHandler(door);
    }

    /** Replaces Spring Boot's HTTP handler: the front door precedes WebFlux's own handler. */
    @Bean
    FrontDoor frontDoor(
            ApplicationContext context,
            Engine engine,
            LiveRoutes routes,
            GeneralDoor generalDoor,
            WeirProperties properties,
            ClientLimits clients,
            EdgeRecorder recorder,
            ServerProperties server) {
        return new FrontDoor(
                WebHttpHandlerBuilder.applicationContext(context)
                        .observationRegistry(ObservationRegistry.NOOP)
                        .build(),
                engine,
                routes,
                generalDoor,
                properties.edge(),
                clients,
                virtualHosts(server.getSsl()),
                recorder);
    }

    /** The hosts with certificates of their own; null: no request can reach a wrong one. */
    private static @Nullable VirtualHosts virtualHosts(@Nullable Ssl ssl) {
        return ssl == null || !Ssl.isEnabled(ssl) || ssl.getServerNameBundles().isEmpty()
                ? null
                : new VirtualHosts(
                        ssl.getServerNameBundles().stream()
                                .collect(Collectors.toMap(
                                        Ssl.ServerNameSslBundle::serverName, Ssl.ServerNameSslBundle::bundle)),
                        Objects.requireNonNullElse(ssl.getBundle(), ""));
    }

    /** Nothing of Redis is loaded unless it is configured. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnProperty("weir.rate-limit.redis.uri")
    static class RedisConfiguration {

        @Bean(destroyMethod = "close")
        RedisCounter redisCounter(WeirProperties properties, MeterBook meterBook) {
            RedisProperties redis =
                    Objects.requireNonNull(properties.rateLimit().redis());
            RedisCounter buckets = redis.cluster()
                    ? new RedisClusterBuckets(redis, System::nanoTime)
                    : new RedisBuckets(redis, System::nanoTime);
            SharedRateLimitMeters.show(meterBook, buckets::availableShare, buckets::localDecisions);
            return buckets;
        }
    }

    @Bean
    ClientLimits clientLimits(WeirProperties properties) {
        return new ClientLimits(properties.edge(), properties.overload().maxInFlight(), OpenFiles.ofProcess());
    }

    @Bean
    EdgeServer edgeServer(
            WeirProperties properties,
            Drain drain,
            ClientLimits clients,
            EdgeRecorder recorder,
            OverloadGuard guard,
            SslBundles sslBundles,
            ReactorResourceFactory resources,
            ObjectProvider<LiveRoutes> routes,
            ObjectProvider<FrontDoor> door) {
        GatewayShedding shedding =
                new GatewayShedding(guard, routes::getObject, PriorityHeader.of(properties.edge(), recorder));
        return new EdgeServer(
                new EdgeServerCustomizer(properties.edge(), drain, clients, recorder, shedding, OpenFiles.ofProcess()),
                sslBundles,
                properties.edge(),
                resources.getLoopResources(),
                door);
    }

    @Bean
    @ConditionalOnProperty("weir.edge.redirect-port")
    RedirectServer redirectServer(
            WeirProperties properties,
            Drain drain,
            ClientLimits clients,
            EdgeRecorder recorder,
            OverloadGuard guard,
            ObjectProvider<LiveRoutes> routes,
            ReactorResourceFactory resources,
            ServerProperties server,
            Environment environment) {
        EdgeProperties edge = properties.edge();
        GatewayShedding shedding = new GatewayShedding(guard, routes::getObject, PriorityHeader.of(edge, recorder));
        int port = Objects.requireNonNull(edge.redirectPort(), "redirectPort");
        return new RedirectServer(
                EdgeServerCustomizer.ofRedirects(edge, drain, clients, recorder, shedding, OpenFiles.ofProcess()),
                resources.getLoopResources(),
                server.getAddress(),
                port,
                () -> new HttpsRedirect(edge, redirectToPort(edge, environment), recorder));
    }

    /** The port of https that callers use: as configured, or the port in use by the gateway's own server. */
    private static int redirectToPort(EdgeProperties edge, Environment environment) {
        Integer configured = edge.redirectToPort();
        return configured == null ? environment.getRequiredProperty("local.server.port", Integer.class) : configured;
    }
}
