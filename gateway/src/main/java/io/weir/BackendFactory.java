package io.weir;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslContext;
import io.weir.bulkhead.QueueingBulkhead;
import io.weir.bulkhead.RegisteredBulkhead;
import io.weir.circuitbreaker.Breaker;
import io.weir.circuitbreaker.BreakerConfigs;
import io.weir.config.BackendProperties;
import io.weir.engine.Backend;
import io.weir.engine.HealthProber;
import io.weir.observe.BackendMeters;
import io.weir.observe.LittlesLawProperties;
import io.weir.observe.MeterBook;
import io.weir.retry.RetryBudget;
import io.weir.upstream.Pool;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.netty.resources.LoopResources;

/** Makes backends of their properties, and puts their breakers and bulkheads into Resilience4j's registries. */
final class BackendFactory {

    private final CircuitBreakerRegistry breakers;
    private final BulkheadRegistry bulkheads;
    private final LoopResources loops;
    private final Function<String, SslContext> sslBundles;
    private final MeterBook book;
    private final LittlesLawProperties littlesLaw;
    private final Map<String, HealthProber> probers = new ConcurrentHashMap<>();

    /**
     * A factory.
     *
     * @param loops the event loops, those of the server
     * @param sslBundles TLS material by the name of its bundle
     */
    BackendFactory(
            CircuitBreakerRegistry breakers,
            BulkheadRegistry bulkheads,
            LoopResources loops,
            Function<String, SslContext> sslBundles,
            MeterBook book,
            LittlesLawProperties littlesLaw) {
        this.book = book;
        this.littlesLaw = littlesLaw;
        this.breakers = breakers;
        this.bulkheads = bulkheads;
        this.loops = loops;
        this.sslBundles = sslBundles;
    }

    /** A backend, closed for nobody yet; what was made for it goes with {@link #close}. */
    Backend create(String name, BackendProperties properties) {
        int maxCalls = properties.bulkhead().maxConcurrentCalls();
        QueueingBulkhead bulkhead =
                new QueueingBulkhead(maxCalls, properties.bulkhead().queueCapacity());
        RegisteredBulkhead.register(bulkheads, name, bulkhead, Map.of());
        QueueingBulkhead streams = new QueueingBulkhead(properties.maxStreams(), 0);
        Breaker breaker = breaker(name, properties, maxCalls);
        Pool pool = pool(name, properties, maxCalls);
        RetryBudget budget = new RetryBudget(properties.retryBudget(), System.nanoTime());
        BackendMeters meters =
                new BackendMeters(book, name, bulkhead, streams, breaker, pool, budget, littlesLaw, System::nanoTime);
        Backend backend = new Backend(
                name,
                properties.uri(),
                authority(properties.uri()),
                properties.deadline().toNanos(),
                properties.bulkhead().maxWaitDuration().toNanos(),
                properties.connection().connectTimeout().toNanos(),
                properties.streamIdleTimeout().toNanos(),
                bulkhead,
                streams,
                breaker,
                pool,
                budget,
                Backend.bits(properties.circuitBreaker().recordStatuses()),
                Backend.bits(properties.circuitBreaker().recordGrpcStatuses()),
                meters);
        String healthPath = properties.recovery().healthPath();
        if (healthPath != null) {
            probers.put(name, new HealthProber(backend, healthPath, loop(), System::nanoTime));
        }
        return backend;
    }

    /** Ends what was made for a backend: it is gone, and nothing of it is left in meters and registries. */
    Mono<Void> close(Backend backend) {
        HealthProber prober = probers.remove(backend.name());
        if (prober != null) {
            prober.close();
        }
        if (backend.observer() instanceof BackendMeters meters) {
            meters.close();
        }
        breakers.remove(backend.name());
        bulkheads.remove(backend.name());
        return backend.pool().close();
    }

    private EventLoop loop() {
        return loops.onClient(true).next();
    }

    private Breaker breaker(String name, BackendProperties properties, int maxCalls) {
        CircuitBreakerConfig config = BreakerConfigs.of(properties.circuitBreaker(), properties.deadline(), maxCalls);
        breakers.remove(name);
        CircuitBreaker breaker = breakers.circuitBreaker(name, config);
        return new Breaker(
                breaker,
                properties.recovery(),
                System::nanoTime,
                () -> ThreadLocalRandom.current().nextDouble());
    }

    private Pool pool(String name, BackendProperties properties, int maxCalls) {
        String bundle = properties.connection().sslBundle();
        @Nullable SslContext tls = bundle == null ? null : sslBundles.apply(bundle);
        return new Pool(
                name,
                properties.uri(),
                properties.protocol(),
                properties.connection(),
                maxCalls + properties.maxStreams(),
                tls,
                loops);
    }

    private static String authority(URI uri) {
        return uri.getPort() == -1 ? uri.getHost() : uri.getHost() + ':' + uri.getPort();
    }
}
