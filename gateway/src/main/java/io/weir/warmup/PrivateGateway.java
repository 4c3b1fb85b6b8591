package io.weir.warmup;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.netty.handler.ssl.SslContext;
import io.weir.accesslog.AccessLog;
import io.weir.apply.AddressSources;
import io.weir.apply.BackendFactory;
import io.weir.apply.ConfigurationApplier;
import io.weir.apply.GeneralRoutesFactory;
import io.weir.apply.LiveBackends;
import io.weir.apply.PoolFactory;
import io.weir.apply.Resilience4jRegistries;
import io.weir.apply.RouteRecorders;
import io.weir.apply.RoutesFactory;
import io.weir.authentication.Issuers;
import io.weir.cluster.Membership;
import io.weir.compression.CompressionMemory;
import io.weir.door.BackendAnswerFilter;
import io.weir.door.BackendRoutingFilter;
import io.weir.door.ForwardedFieldsFilter;
import io.weir.door.FrontDoor;
import io.weir.door.GeneralDoor;
import io.weir.door.LiveRoutes;
import io.weir.door.RefusalHandler;
import io.weir.door.Routes;
import io.weir.door.WeirRoutePredicateHandlerMapping;
import io.weir.drain.Drain;
import io.weir.edge.ClientLimits;
import io.weir.edge.EdgeListener;
import io.weir.edge.EdgeProperties;
import io.weir.edge.EdgeServerCustomizer;
import io.weir.edge.OpenFiles;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.engine.Limits;
import io.weir.instance.ConnectionFiles;
import io.weir.instance.UpstreamProtocol;
import io.weir.lastgood.LastGoodStore;
import io.weir.management.RecentEvents;
import io.weir.metrics.MeterBook;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadSampler;
import java.net.InetSocketAddress;
import java.time.Clock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ThreadLocalRandom;
import javax.management.MBeanServerFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.cloud.gateway.config.GlobalCorsProperties;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.cloud.gateway.handler.FilteringWebHandler;
import org.springframework.cloud.gateway.handler.RoutePredicateHandlerMapping;
import org.springframework.http.HttpStatus;
import org.springframework.http.server.reactive.HttpHandler;
import org.springframework.web.server.WebHandler;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.core.scheduler.Schedulers;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/**
 * A second gateway of the same classes in this process, with a configuration of its own. It shares the event
 * loops and the certificates with the gateway. Its meters, its MBeans, its access log and the states of its
 * backends are its own, and nobody sees them.
 */
// Concurrency: created and closed by the thread of the warm-up; its parts are those of any gateway.
final class PrivateGateway implements AutoCloseable {

    private static final String SPRING = "org.springframework.cloud.gateway.";
    /** Its connections are few, and the gateway has logged how many there may be. */
    private static final OpenFiles FILES = new OpenFiles(Long.MAX_VALUE);

    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final Logger log = LoggerFactory.getLogger(PrivateGateway.class);

    private final SharedParts parts;
    private final PrivateConfiguration configuration;
    private final Drain drain = new Drain();
    private final OverloadGuard guard;
    private final ClientLimits clients;
    private final LiveRoutes routes;
    private final FrontDoor door;
    private final int port;
    private final int securePort;
    /** What was opened, the latest first. */
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    /** Creates and starts the gateway. If that fails, nothing of it remains. */
    PrivateGateway(SharedParts parts, PrivateConfiguration configuration) {
        this.parts = parts;
        this.configuration = configuration;
        try {
            guard = new OverloadGuard(configuration.weir().overload());
            Engine engine = engine();
            OverloadSampler delays = new OverloadSampler(parts.loops().onServer(true), guard, parts.nanoClock());
            opened.push(delays);
            delays.startLoops();
            clients = new ClientLimits(edge(), configuration.weir().overload().maxInFlight(), FILES);
            routes = new LiveRoutes(routes(engine));
            GeneralDoor generalDoor = new GeneralDoor(edge().serverTiming(), UnheardDoor.INSTANCE, engine::nanoTime);
            door = new FrontDoor(
                    generalHandler(engine, generalDoor),
                    engine,
                    routes,
                    generalDoor,
                    edge(),
                    clients,
                    null,
                    UnheardDoor.INSTANCE);
            port = listen(false);
            securePort = parts.tls() == null ? 0 : listen(true);
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    private EdgeProperties edge() {
        return configuration.weir().edge();
    }

    /** The port for plain HTTP/1.1. */
    int port() {
        return port;
    }

    /** The port for TLS; 0: there is none. */
    int securePort() {
        return securePort;
    }

    private Engine engine() {
        EdgeProperties edge = edge();
        Limits limits = new Limits(
                edge.maxBodySize().toBytes(),
                edge.bodyIdleTimeout().toNanos(),
                edge.readIdleTimeout().toNanos(),
                Math.toIntExact(edge.maxWebsocketFrameSize().toBytes()),
                Math.toIntExact(edge.readAhead().toBytes()),
                edge.readAheadTotalBytes(),
                edge.minBodyRate().toBytes());
        return new Engine(parts.nanoClock(), PrivateGateway::random, drain, guard, limits);
    }

    private static double random() {
        return ThreadLocalRandom.current().nextDouble();
    }

    /**
     * WebFlux's part in front of Spring Cloud Gateway's filters. Filters of extensions take no part: they
     * might count the calls of the warm-up, or pass them on.
     */
    private HttpHandler generalHandler(Engine engine, GeneralDoor generalDoor) {
        List<GlobalFilter> filters = new ArrayList<>(List.of(
                new ForwardedFieldsFilter(generalDoor),
                new BackendRoutingFilter(engine, generalDoor),
                new BackendAnswerFilter(generalDoor)));
        parts.context().getBeanProvider(GlobalFilter.class).stream()
                .filter(filter -> filter.getClass().getName().startsWith(SPRING))
                .forEach(filters::add);
        RoutePredicateHandlerMapping mapping = new WeirRoutePredicateHandlerMapping(
                generalDoor,
                new FilteringWebHandler(filters, true),
                routes,
                new GlobalCorsProperties(),
                parts.context().getEnvironment());
        WebHandler nowhere = exchange -> {
            exchange.getResponse().setStatusCode(HttpStatus.NOT_FOUND);
            return exchange.getResponse().setComplete();
        };
        return WebHttpHandlerBuilder.webHandler(exchange -> mapping.getHandler(exchange)
                        .defaultIfEmpty(nowhere)
                        .flatMap(handler -> ((WebHandler) handler).handle(exchange)))
                .exceptionHandler(new RefusalHandler(generalDoor))
                .build();
    }

    private Routes routes(Engine engine) {
        MeterBook meterBook = new MeterBook(parts.registry().get(), MBeanServerFactory.newMBeanServer());
        AccessLog accessLog = parts.properties().accessLog().enabled()
                ? AccessLog.discarding(parts.properties().accessLog(), System::currentTimeMillis)
                : null;
        if (accessLog != null) {
            opened.push(accessLog);
        }
        Issuers issuers = new Issuers(Clock.systemUTC(), parts.nanoClock(), PrivateGateway::random, none -> {});
        opened.push(issuers);
        LiveBackends backends = backends(engine, meterBook);
        RoutesFactory factory = new RoutesFactory(
                new GeneralRoutesFactory(parts.context(), parts.conversion()),
                parts.compiler(),
                new RouteRecorders(meterBook, accessLog, null),
                engine::nanoTime,
                new CompressionMemory(edge().compressionMemory().toBytes()),
                new LastGoodStore(
                        configuration.weir().lastGood(),
                        engine::nanoTime,
                        System::currentTimeMillis,
                        ForkJoinPool.commonPool()),
                "",
                null,
                engine::giveBackPermits);
        Routes created = ConfigurationApplier.initialRoutes(
                backends, factory, issuers, configuration.weir(), configuration.gateway());
        opened.push(() -> created.backends().values().forEach(PrivateGateway::closePools));
        return created;
    }

    private static void closePools(Backend backend) {
        backend.instances().all().forEach(instance -> instance.pool().close().subscribe());
    }

    private LiveBackends backends(Engine engine, MeterBook meterBook) {
        PoolFactory pools =
                new PoolFactory(parts.loops(), PrivateGateway::noTls, name -> name, ConnectionFiles.unbounded());
        Resilience4jRegistries registries =
                new Resilience4jRegistries(CircuitBreakerRegistry.ofDefaults(), BulkheadRegistry.ofDefaults());
        BackendFactory factory = new BackendFactory(
                registries,
                pools,
                meterBook,
                configuration.weir().littlesLaw(),
                parts.nanoClock(),
                PrivateGateway::random,
                engine::leave,
                new RecentEvents(InstantSource.system()),
                engine::faults);
        AddressSources sources = new AddressSources(
                () -> {
                    throw aName();
                },
                () -> {
                    throw aName();
                },
                () -> null,
                Schedulers.immediate(),
                parts.nanoClock());
        LiveBackends backends = new LiveBackends(
                factory,
                sources,
                registries,
                left -> left.pool().close().subscribe(),
                guard::divide,
                Membership.ofUnknownRank(1));
        opened.push(backends);
        return backends;
    }

    private static SslContext noTls(@Nullable String bundle, UpstreamProtocol protocol) {
        throw new IllegalStateException("warm-up: TLS (expected: a backend without)");
    }

    private static IllegalStateException aName() {
        return new IllegalStateException("warm-up: a name (expected: an address)");
    }

    private int listen(boolean isSecure) {
        EdgeServerCustomizer edge = new EdgeServerCustomizer(
                edge(), drain, clients, EdgeListener.NONE, parts.shedding().apply(guard, () -> routes), FILES);
        HttpServer server = HttpServer.create()
                .runOn(parts.loops())
                .bindAddress(() -> new InetSocketAddress(PrivateConfiguration.LOOPBACK, 0));
        if (isSecure && parts.tls() != null) {
            if (!parts.speaksHttp2()) {
                edge.refuseHttp2();
            }
            server = parts.tls().apply(server);
        }
        DisposableServer bound = edge.apply(server)
                .route(all -> all.route(request -> true, door::serve))
                .bindNow(TIMEOUT);
        opened.push(() -> bound.disposeNow(TIMEOUT));
        return bound.port();
    }

    /** Closes everything, whatever fails. */
    @Override
    public void close() {
        while (!opened.isEmpty()) {
            try {
                opened.pop().close();
            } catch (Exception e) {
                log.debug("A part of the warm-up was not closed", e);
            }
        }
    }
}
