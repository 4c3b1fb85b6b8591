package io.weir;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.netty.handler.ssl.SslContext;
import io.weir.bulkhead.QueueingBulkhead;
import io.weir.bulkhead.RegisteredBulkhead;
import io.weir.circuitbreaker.Breaker;
import io.weir.circuitbreaker.BreakerConfigs;
import io.weir.config.BackendProperties;
import io.weir.engine.Backend;
import io.weir.retry.RetryBudget;
import io.weir.upstream.Pool;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.netty.resources.LoopResources;

/** Makes backends of their properties, and puts their breakers and bulkheads into Resilience4j's registries. */
final class BackendFactory {

    private final CircuitBreakerRegistry breakers;
    private final BulkheadRegistry bulkheads;
    private final LoopResources loops;
    private final Function<String, SslContext> sslBundles;

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
            Function<String, SslContext> sslBundles) {
        this.breakers = breakers;
        this.bulkheads = bulkheads;
        this.loops = loops;
        this.sslBundles = sslBundles;
    }

    /** A backend without observers yet. */
    Backend create(String name, BackendProperties properties) {
        int maxCalls = properties.bulkhead().maxConcurrentCalls();
        QueueingBulkhead bulkhead =
                new QueueingBulkhead(maxCalls, properties.bulkhead().queueCapacity());
        RegisteredBulkhead.register(bulkheads, name, bulkhead, Map.of());
        return new Backend(
                name,
                properties.uri(),
                authority(properties.uri()),
                properties.deadline().toNanos(),
                properties.bulkhead().maxWaitDuration().toNanos(),
                properties.connection().connectTimeout().toNanos(),
                properties.streamIdleTimeout().toNanos(),
                bulkhead,
                new QueueingBulkhead(properties.maxStreams(), 0),
                breaker(name, properties, maxCalls),
                pool(name, properties, maxCalls),
                new RetryBudget(properties.retryBudget(), System.nanoTime()),
                Backend.bits(properties.circuitBreaker().recordStatuses()),
                Backend.bits(properties.circuitBreaker().recordGrpcStatuses()),
                io.weir.engine.BackendObserver.NONE);
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
