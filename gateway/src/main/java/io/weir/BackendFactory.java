package io.weir;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslContext;
import io.weir.bulkhead.BulkheadProperties;
import io.weir.bulkhead.BulkheadScope;
import io.weir.bulkhead.QueueingBulkhead;
import io.weir.bulkhead.RegisteredBulkhead;
import io.weir.circuitbreaker.Breaker;
import io.weir.circuitbreaker.BreakerSettings;
import io.weir.cluster.Share;
import io.weir.config.BackendProperties;
import io.weir.engine.Backend;
import io.weir.engine.Enforcement;
import io.weir.engine.HealthProber;
import io.weir.observe.BackendMeters;
import io.weir.observe.LittlesLawProperties;
import io.weir.observe.MeterBook;
import io.weir.retry.RetryBudget;
import io.weir.upstream.Pool;
import java.net.URI;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.netty.resources.LoopResources;

/**
 * Makes backends of their properties, and puts their breakers and bulkheads into Resilience4j's registries; when the properties change, it
 * changes of a backend what has to be, and keeps the rest with its state.
 *
 * <ul>
 *   <li>Bulkheads are resized in place.
 *   <li>A breaker whose settings are the same stays as it is. One of which only derived figures differ, those that come
 *       from the deadline or the limit, is replaced by one in the same state. Any other is replaced, and what an operator
 *       forced stays forced.
 *   <li>A pool is replaced if the address or the connection's settings differ.
 *   <li>Meters follow the parts, so that series go on.
 * </ul>
 *
 * <p>Thread-safe: one change at a time, under this object's monitor.
 */
final class BackendFactory {

    private final CircuitBreakerRegistry breakers;
    private final BulkheadRegistry bulkheads;
    private final LoopResources loops;
    private final Function<String, SslContext> sslBundles;
    private final MeterBook book;
    private final LittlesLawProperties littlesLaw;
    private final Map<String, Compartment> compartments = new HashMap<>();
    /** Among which limits of scope cluster are divided. */
    private int gateways = 1;

    /** A backend in force, and what it was made of. */
    private record Compartment(
            BackendProperties properties,
            BreakerSettings breaker,
            Backend backend,
            RegisteredBulkhead registered,
            BackendMeters meters,
            @Nullable HealthProber prober) {}

    /** Backends in the making: all that can fail has not, and nothing has been changed yet. */
    static final class Plan {

        private final Map<String, BackendProperties> properties;
        private final Map<String, Pool> pools = new HashMap<>();

        private Plan(Map<String, BackendProperties> properties) {
            this.properties = properties;
        }

        /** Nothing comes of it. */
        void drop() {
            pools.values().forEach(pool -> pool.close().subscribe());
        }
    }

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

    /**
     * Plans backends.
     *
     * @throws RuntimeException if one cannot be made
     */
    synchronized Plan plan(Map<String, BackendProperties> properties) {
        Plan plan = new Plan(properties);
        try {
            properties.forEach((name, next) -> {
                Compartment before = compartments.get(name);
                if (before == null || !isPoolKept(before.properties(), next)) {
                    plan.pools.put(name, pool(name, next));
                }
            });
        } catch (RuntimeException e) {
            plan.drop();
            throw e;
        }
        return plan;
    }

    /**
     * Makes backends as they were planned.
     *
     * @param left takes what is to be closed once nobody goes by it any more
     */
    synchronized Map<String, Backend> create(Plan plan, Consumer<Retirement.Left> left) {
        Map<String, Backend> backends = new LinkedHashMap<>();
        List.copyOf(compartments.keySet()).forEach(name -> {
            if (!plan.properties.containsKey(name)) {
                left.accept(gone(name));
            }
        });
        plan.properties.forEach((name, properties) -> {
            Compartment before = compartments.get(name);
            Compartment after = before == null
                    ? create(name, properties, plan.pools)
                    : before.properties().equals(properties) ? before : change(name, properties, before, plan, left);
            compartments.put(name, after);
            backends.put(name, after.backend());
        });
        return backends;
    }

    /** There are so many gateways now: the limits that are theirs together are divided anew. */
    synchronized void share(int among) {
        gateways = among;
        compartments.values().forEach(compartment -> {
            BulkheadProperties bulkhead = compartment.properties().bulkhead();
            if (bulkhead.scope() == BulkheadScope.CLUSTER) {
                Share share = share(bulkhead);
                compartment.backend().bulkhead().resize(share.permits(), bulkhead.queueCapacity());
                QueueingBulkhead trial = compartment.backend().enforcement().trial();
                if (trial != null) {
                    trial.resize(share.permits(), bulkhead.queueCapacity());
                }
                compartment.meters().floored(share.isFloored());
            }
        });
    }

    private Share share(BulkheadProperties bulkhead) {
        return Share.of(bulkhead.maxConcurrentCalls(), bulkhead.scope() == BulkheadScope.CLUSTER ? gateways : 1);
    }

    private Compartment create(String name, BackendProperties properties, Map<String, Pool> pools) {
        Share share = share(properties.bulkhead());
        QueueingBulkhead bulkhead =
                new QueueingBulkhead(share.permits(), properties.bulkhead().queueCapacity());
        RegisteredBulkhead registered = RegisteredBulkhead.register(bulkheads, name, bulkhead, Map.of());
        QueueingBulkhead streams = new QueueingBulkhead(properties.maxStreams(), 0);
        BreakerSettings settings = settings(properties);
        breakers.remove(name);
        Breaker breaker = breaker(breakers.circuitBreaker(name, settings.resilience4j()), properties);
        Pool pool = pools.get(name);
        if (pool == null) {
            throw new IllegalStateException("backend " + name + " was planned without a pool");
        }
        RetryBudget budget = new RetryBudget(properties.retryBudget(), System.nanoTime());
        BackendMeters meters = new BackendMeters(
                book,
                name,
                bulkhead,
                streams,
                properties.bulkhead().maxWaitDuration().toNanos(),
                breaker,
                pool,
                budget,
                littlesLaw,
                System::nanoTime);
        meters.floored(share.isFloored());
        meters.whenRejected(registered::publishRejected);
        Backend backend = backend(
                name, properties, bulkhead, streams, breaker, pool, budget, enforcement(properties, null), meters);
        return new Compartment(properties, settings, backend, registered, meters, prober(backend, properties));
    }

    private Compartment change(
            String name, BackendProperties properties, Compartment before, Plan plan, Consumer<Retirement.Left> left) {
        Backend old = before.backend();
        Pool replacement = plan.pools.get(name);
        Pool pool = replacement == null ? old.pool() : replacement;
        // Connections before permits: whoever is let in finds one.
        pool.makeRoom(permits(properties));
        Share share = share(properties.bulkhead());
        old.bulkhead().resize(share.permits(), properties.bulkhead().queueCapacity());
        before.meters().floored(share.isFloored());
        old.streams().resize(properties.maxStreams(), 0);
        BreakerSettings settings = settings(properties);
        Breaker breaker =
                settings.equals(before.breaker()) ? old.breaker() : replaced(name, settings, properties, before);
        RetryBudget budget = properties.retryBudget().equals(before.properties().retryBudget())
                ? old.retryBudget()
                : new RetryBudget(properties.retryBudget(), System.nanoTime());
        before.meters().follow(properties.bulkhead().maxWaitDuration().toNanos(), breaker, pool, budget);
        Backend backend = backend(
                name,
                properties,
                old.bulkhead(),
                old.streams(),
                breaker,
                pool,
                budget,
                enforcement(properties, old.enforcement().trial()),
                before.meters());
        close(before.prober());
        if (replacement != null) {
            left.accept(new Retirement.Left(old.pool(), () -> old.pool().close().subscribe()));
        }
        return new Compartment(
                properties, settings, backend, before.registered(), before.meters(), prober(backend, properties));
    }

    private Breaker replaced(String name, BreakerSettings settings, BackendProperties properties, Compartment before) {
        CircuitBreaker next = CircuitBreaker.of(name, settings.resilience4j(), breakers.getTags());
        Breaker breaker = breaker(next, properties);
        if (properties.circuitBreaker().equals(before.properties().circuitBreaker())) {
            breaker.continueFrom(before.backend().breaker());
        } else {
            breaker.stayForced(before.backend().breaker());
        }
        breakers.replace(name, next);
        return breaker;
    }

    /** A backend that there is not any more; those who go by it end what they have begun. */
    private Retirement.Left gone(String name) {
        Compartment compartment = compartments.remove(name);
        if (compartment == null) {
            throw new IllegalStateException("backend " + name + " is not there");
        }
        close(compartment.prober());
        Backend backend = compartment.backend();
        return new Retirement.Left(backend.pool(), () -> {
            compartment.meters().close();
            // A successor of the same name may stand there by now.
            breakers.find(name)
                    .filter(registered -> registered == backend.breaker().resilience4j())
                    .ifPresent(registered -> breakers.remove(name));
            bulkheads
                    .find(name)
                    .filter(registered -> registered == compartment.registered())
                    .ifPresent(registered -> bulkheads.remove(name));
            backend.pool().close().subscribe();
        });
    }

    private static void close(@Nullable HealthProber prober) {
        if (prober != null) {
            prober.close();
        }
    }

    private static Backend backend(
            String name,
            BackendProperties properties,
            QueueingBulkhead bulkhead,
            QueueingBulkhead streams,
            Breaker breaker,
            Pool pool,
            RetryBudget budget,
            Enforcement enforcement,
            BackendMeters meters) {
        return new Backend(
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
                enforcement,
                meters);
    }

    private Enforcement enforcement(BackendProperties properties, @Nullable QueueingBulkhead tried) {
        BulkheadProperties bulkhead = properties.bulkhead();
        QueueingBulkhead trial = null;
        if (!bulkhead.enforce()) {
            int permits = share(bulkhead).permits();
            trial = tried != null ? tried : new QueueingBulkhead(permits, bulkhead.queueCapacity());
            trial.resize(permits, bulkhead.queueCapacity());
        }
        return new Enforcement(
                bulkhead.enforce(), properties.circuitBreaker().enforce(), properties.deadlineEnforce(), trial);
    }

    private @Nullable HealthProber prober(Backend backend, BackendProperties properties) {
        String healthPath = properties.recovery().healthPath();
        return healthPath == null ? null : new HealthProber(backend, healthPath, loop(), System::nanoTime);
    }

    private EventLoop loop() {
        return loops.onClient(true).next();
    }

    private static BreakerSettings settings(BackendProperties properties) {
        return BreakerSettings.of(
                properties.circuitBreaker(),
                properties.recovery(),
                properties.deadline(),
                properties.bulkhead().maxConcurrentCalls());
    }

    private static Breaker breaker(CircuitBreaker breaker, BackendProperties properties) {
        return new Breaker(
                breaker,
                properties.recovery(),
                System::nanoTime,
                () -> ThreadLocalRandom.current().nextDouble());
    }

    private static boolean isPoolKept(BackendProperties before, BackendProperties after) {
        return before.uri().equals(after.uri())
                && before.protocol() == after.protocol()
                && before.connection().equals(after.connection());
    }

    private static int permits(BackendProperties properties) {
        if (!properties.bulkhead().enforce()) {
            return 2 * QueueingBulkhead.LARGEST;
        }
        return properties.bulkhead().maxConcurrentCalls() + properties.maxStreams();
    }

    private Pool pool(String name, BackendProperties properties) {
        String bundle = properties.connection().sslBundle();
        @Nullable SslContext tls = bundle == null ? null : sslBundles.apply(bundle);
        return new Pool(
                name,
                properties.uri(),
                properties.protocol(),
                properties.connection(),
                permits(properties),
                tls,
                loops);
    }

    private static String authority(URI uri) {
        return uri.getPort() == -1 ? uri.getHost() : uri.getHost() + ':' + uri.getPort();
    }
}
