package io.weir;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.bulkhead.event.BulkheadEvent;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerEvent;
import io.github.resilience4j.consumer.EventConsumerRegistry;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.weir.accesslog.AccessLog;
import io.weir.cluster.ClusterProperties;
import io.weir.cluster.GatewayCount;
import io.weir.config.WeirProperties;
import io.weir.config.check.Snapshot;
import io.weir.config.check.SnapshotReader;
import io.weir.dashboard.LiveFeed;
import io.weir.dashboard.RefusedConfiguration;
import io.weir.door.BackendAnswerFilter;
import io.weir.door.BackendRoutingFilter;
import io.weir.door.FrontDoor;
import io.weir.door.GeneralDoor;
import io.weir.door.LiveRoutes;
import io.weir.door.RefusalHandler;
import io.weir.door.RouteCompiler;
import io.weir.door.RouteView;
import io.weir.door.WeirRoutePredicateHandlerMapping;
import io.weir.drain.Drain;
import io.weir.edge.EdgeServerCustomizer;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.engine.Limits;
import io.weir.engine.RouteObserver;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.QueueingBulkhead;
import io.weir.live.BackendFactory;
import io.weir.live.ConfigurationApplier;
import io.weir.live.GeneralRoutesFactory;
import io.weir.live.Recorder;
import io.weir.live.RetiredGenerations;
import io.weir.live.RoutesFactory;
import io.weir.management.EventRings;
import io.weir.management.Gateway;
import io.weir.management.LimitsArgumentAdvisor;
import io.weir.management.RecentEvents;
import io.weir.management.WeirEndpoint;
import io.weir.metrics.ClusterMeters;
import io.weir.metrics.EdgeMeters;
import io.weir.metrics.ExchangeMeters;
import io.weir.metrics.MeterBook;
import io.weir.metrics.MeterScope;
import io.weir.metrics.ReloadMeters;
import io.weir.metrics.TracingMeters;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadSampler;
import io.weir.reload.FileWatch;
import io.weir.reload.History;
import io.weir.reload.LiveConfiguration;
import io.weir.reload.WeirConfigEndpoint;
import io.weir.reload.WeirReloadEndpoint;
import io.weir.tracing.Tracing;
import java.io.IOException;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.stream.Collectors;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.config.GlobalCorsProperties;
import org.springframework.cloud.gateway.filter.factory.GatewayFilterFactory;
import org.springframework.cloud.gateway.handler.FilteringWebHandler;
import org.springframework.cloud.gateway.handler.predicate.RoutePredicateFactory;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.DependsOn;
import org.springframework.context.annotation.Primary;
import org.springframework.core.convert.ConversionService;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.Environment;
import org.springframework.http.client.ReactorResourceFactory;
import org.springframework.util.StringUtils;
import org.springframework.web.reactive.accept.ApiVersionStrategy;
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
        return new Engine(System::nanoTime, () -> ThreadLocalRandom.current().nextDouble(), drain, guard, limits);
    }

    /**
     * In place of Resilience4j's own, which takes a lock on the event loop for each call. Without the calls that an open breaker
     * refuses: within a second they would have taken the places of those that opened it.
     */
    @Bean
    EventConsumerRegistry<CircuitBreakerEvent> circuitBreakerEvents() {
        return new EventRings<>(event -> event.getEventType() != CircuitBreakerEvent.Type.NOT_PERMITTED);
    }

    /** In place of Resilience4j's own, too: of a bulkhead's events, those of the calls that it rejects. */
    @Bean
    EventConsumerRegistry<BulkheadEvent> bulkheadEvents() {
        return new EventRings<>(event -> true);
    }

    @Bean
    RecentEvents recentEvents(CircuitBreakerRegistry breakers) {
        RecentEvents recentEvents = new RecentEvents(InstantSource.system());
        recentEvents.watch(breakers);
        return recentEvents;
    }

    @Bean
    MeterBook meterBook(MeterRegistry registry) {
        return new MeterBook(registry);
    }

    @Bean(initMethod = "run")
    WarmUp warmUp(ReactorResourceFactory resources) {
        return new WarmUp(resources.getLoopResources());
    }

    /** After the warm-up, which holds event loops up and is no overload. */
    @Bean(destroyMethod = "close")
    @DependsOn("warmUp")
    OverloadSampler overloadSampler(ReactorResourceFactory resources, OverloadGuard guard) {
        OverloadSampler sampler =
                new OverloadSampler(resources.getLoopResources().onServer(true), guard, System::nanoTime);
        sampler.start();
        return sampler;
    }

    @Bean
    Recorder recorder(
            MeterBook book,
            Engine engine,
            OverloadGuard guard,
            OverloadSampler sampler,
            Drain drain,
            ObjectProvider<EdgeServer> server,
            ObjectProvider<AccessLog> accessLog,
            ObjectProvider<Tracing> tracing) {
        AccessLog log = accessLog.getIfAvailable();
        // The server tells the recorder what it refuses, and is asked for its connections: late, since each needs the
        // other.
        EdgeMeters.Connections connections = new ServerConnections(server);
        return new Recorder(
                new EdgeMeters(book, engine, guard, sampler, drain, connections, log), log, tracing.getIfAvailable());
    }

    @Bean(destroyMethod = "close")
    @ConditionalOnProperty("weir.tracing.enabled")
    Tracing tracing(WeirProperties properties, Engine engine, MeterBook book) {
        Tracing tracing = Tracing.open(properties.tracing(), InstantSource.system(), engine::nanoTime);
        TracingMeters.show(book, tracing::exported, tracing::dropped, tracing::failed);
        return tracing;
    }

    @Bean(destroyMethod = "close")
    @ConditionalOnProperty(name = "weir.access-log.enabled", matchIfMissing = true)
    AccessLog accessLog(WeirProperties properties) throws IOException {
        return AccessLog.open(properties.accessLog(), System::currentTimeMillis);
    }

    @Bean
    BackendFactory backendFactory(
            WeirProperties properties,
            CircuitBreakerRegistry breakers,
            BulkheadRegistry bulkheads,
            ReactorResourceFactory resources,
            SslBundles bundles,
            MeterBook book) {
        return new BackendFactory(
                breakers,
                bulkheads,
                resources.getLoopResources(),
                (name, protocol) -> sslContext(bundles.getBundle(name), protocol),
                book,
                properties.littlesLaw());
    }

    @Bean(destroyMethod = "close")
    @ConditionalOnProperty("weir.cluster.gateways")
    GatewayCount gatewayCount(WeirProperties properties, BackendFactory backends, MeterBook book) {
        ClusterProperties cluster = properties.cluster();
        GatewayCount count = new GatewayCount(Objects.requireNonNull(cluster.gateways()), cluster, backends::share);
        ClusterMeters.show(book, count::gateways, count::failures);
        return count;
    }

    private static SslContext sslContext(SslBundle bundle, UpstreamProtocol protocol) {
        try {
            return protocol.offeredBy(SslContextBuilder.forClient())
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
            GlobalCorsProperties cors,
            Environment environment) {
        return new RouteCompiler(
                predicates.stream().collect(Collectors.toMap(RoutePredicateFactory::name, Function.identity())),
                filters.stream().collect(Collectors.toMap(GatewayFilterFactory::name, Function.identity())),
                configuration,
                environment.getProperty(
                        "spring.cloud.gateway.server.webflux.predicate.host.include-port", Boolean.class, true),
                notCompiled(cors, environment));
    }

    /** What is Spring's to do to every request, and why no route is compiled then. */
    private static @Nullable String notCompiled(GlobalCorsProperties cors, Environment environment) {
        if (!cors.getCorsConfigurations().isEmpty()) {
            return "spring.cloud.gateway.server.webflux.globalcors is set";
        }
        return StringUtils.hasText(environment.getProperty("spring.webflux.base-path"))
                ? "spring.webflux.base-path is set"
                : null;
    }

    @Bean
    RoutesFactory routesFactory(
            ApplicationContext context,
            @Qualifier("webFluxConversionService") ConversionService conversion,
            RouteCompiler compiler,
            MeterBook book,
            Recorder recorder) {
        return new RoutesFactory(
                new GeneralRoutesFactory(context, conversion), compiler, new RecordersOfRoutes(book, recorder));
    }

    /** In place of Spring Cloud Gateway's own, by its name: it goes by these routes too. */
    @Bean("cachedCompositeRouteLocator")
    @Primary
    LiveRoutes liveRoutes(
            WeirProperties properties, GatewayProperties gateway, BackendFactory backends, RoutesFactory routes) {
        return new LiveRoutes(ConfigurationApplier.first(backends, routes, properties, gateway));
    }

    /** In place of Spring Cloud Gateway's own. */
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

    @Bean(destroyMethod = "close")
    RetiredGenerations retirement(ReactorResourceFactory resources) {
        return new RetiredGenerations(resources.getLoopResources().onServer(true));
    }

    @Bean
    LiveConfiguration liveConfiguration(
            ConfigurableEnvironment environment,
            ApplicationArguments arguments,
            BackendFactory backends,
            RoutesFactory routes,
            LiveRoutes live,
            RetiredGenerations retirement,
            Recorder recorder,
            GatewayProperties gateway,
            ApplicationEventPublisher events,
            Drain drain,
            MeterBook book,
            RecentEvents recentEvents) {
        InstantSource clock = InstantSource.system();
        return new LiveConfiguration(
                Snapshot.of(environment),
                new SnapshotReader(environment, arguments.getSourceArgs()),
                new ConfigurationApplier(backends, routes, live, retirement, recorder.edge(), gateway, events),
                () -> drain.phase() != Drain.Phase.SERVING,
                clock,
                new ReloadMeters(book, clock.instant()),
                recentEvents);
    }

    @Bean
    GeneralDoor generalDoor(WeirProperties properties, Recorder recorder, Engine engine) {
        return new GeneralDoor(properties.edge().serverTiming(), recorder, engine::nanoTime);
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

    @Bean
    EdgeServer edgeServer(WeirProperties properties, Drain drain, Recorder recorder, ObjectProvider<FrontDoor> door) {
        return new EdgeServer(new EdgeServerCustomizer(properties.edge(), drain, recorder), door);
    }

    @Bean
    Drainer drainer(
            ApplicationContext context,
            Drain drain,
            WeirProperties properties,
            Engine engine,
            EdgeServer edge,
            OverloadSampler sampler,
            LiveRoutes routes,
            RetiredGenerations retirement,
            LiveFeed feed) {
        return new Drainer(context, drain, properties.drain(), engine, edge.connections()::drain, () -> {
            sampler.close();
            feed.close();
            retirement.close();
            for (Backend backend : routes.get().backends().values()) {
                backend.pool().close().subscribe();
            }
        });
    }

    @Bean
    Gateway gatewayView(LiveRoutes routes) {
        return new Gateway() {
            @Override
            public Map<String, Backend> backends() {
                return routes.get().backends();
            }

            @Override
            public List<RouteView> routes() {
                return routes.get().views();
            }
        };
    }

    @Bean(initMethod = "start", destroyMethod = "close")
    LiveFeed liveFeed(
            Gateway gateway,
            Engine engine,
            OverloadGuard guard,
            Drain drain,
            RecentEvents recentEvents,
            LiveConfiguration configuration,
            ObjectProvider<GatewayCount> count) {
        GatewayCount known = count.getIfAvailable();
        History history = configuration.history();
        return new LiveFeed(
                gateway,
                engine,
                guard,
                drain,
                recentEvents,
                () -> Optional.ofNullable(history.refused())
                        .map(change -> new RefusedConfiguration(change.at(), change.by(), change.problems())),
                known == null ? () -> 1 : known::gateways,
                InstantSource.system());
    }

    @Bean
    WeirEndpoint weirEndpoint(
            Gateway gateway,
            Engine engine,
            OverloadGuard guard,
            Drain drain,
            LiveConfiguration configuration,
            RecentEvents recentEvents) {
        return new WeirEndpoint(gateway, engine, guard, drain, configuration, recentEvents);
    }

    @Bean
    LimitsArgumentAdvisor limitsArgumentAdvisor() {
        return new LimitsArgumentAdvisor();
    }

    @Bean
    WeirReloadEndpoint weirReloadEndpoint(LiveConfiguration configuration) {
        return new WeirReloadEndpoint(configuration);
    }

    @Bean
    WeirConfigEndpoint weirConfigEndpoint(LiveConfiguration configuration) {
        return new WeirConfigEndpoint(configuration);
    }

    @Bean(initMethod = "start", destroyMethod = "close")
    @ConditionalOnProperty(name = "weir.reload.watch", matchIfMissing = true)
    FileWatch fileWatch(LiveConfiguration configuration, WeirProperties properties) {
        return new FileWatch(
                configuration,
                properties.reload().pollInterval(),
                properties.reload().quietPeriod());
    }

    /** In place of Spring Boot's: the front door comes before WebFlux's own handler. */
    @Bean
    FrontDoor frontDoor(
            ApplicationContext context,
            Engine engine,
            LiveRoutes routes,
            GeneralDoor generalDoor,
            WeirProperties properties,
            Recorder recorder) {
        return new FrontDoor(
                WebHttpHandlerBuilder.applicationContext(context)
                        .observationRegistry(ObservationRegistry.NOOP)
                        .build(),
                engine,
                routes,
                generalDoor,
                properties.edge(),
                recorder);
    }

    private record RecordersOfRoutes(MeterBook book, Recorder recorder) implements RoutesFactory.Observers {

        @Override
        public RouteObserver of(
                String route,
                Backend backend,
                String door,
                @Nullable QueueingBulkhead limit,
                @Nullable RouteObserver before) {
            if (before instanceof Recorder.OfRoute known && known.meters().isFor(backend.name(), door)) {
                return known;
            }
            MeterScope page = book.open();
            try {
                return recorder.of(new ExchangeMeters(page, route, backend.name(), door, limit));
            } catch (RuntimeException e) {
                page.close();
                throw e;
            }
        }

        @Override
        public void follow(RouteObserver observer, @Nullable QueueingBulkhead limit) {
            if (observer instanceof Recorder.OfRoute known) {
                known.meters().setOwnLimit(limit);
            }
        }

        @Override
        public void drop(RouteObserver observer) {
            if (observer instanceof Recorder.OfRoute made) {
                made.meters().close();
            }
        }
    }

    private record ServerConnections(ObjectProvider<EdgeServer> server) implements EdgeMeters.Connections {

        @Override
        public int open() {
            return server.getObject().connections().open();
        }

        @Override
        public int limit() {
            return server.getObject().connections().limit();
        }

        @Override
        public long rejected() {
            return server.getObject().connections().rejected();
        }
    }
}
