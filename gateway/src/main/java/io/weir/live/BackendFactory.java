package io.weir.live;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslContext;
import io.weir.cluster.Share;
import io.weir.config.BackendProperties;
import io.weir.engine.Backend;
import io.weir.engine.Enforcement;
import io.weir.engine.HealthProber;
import io.weir.health.Breaker;
import io.weir.health.BreakerSettings;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.BulkheadProperties;
import io.weir.limit.BulkheadScope;
import io.weir.limit.LittlesLawProperties;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.RegisteredBulkhead;
import io.weir.metrics.BackendMeters;
import io.weir.metrics.MeterBook;
import io.weir.metrics.MeterScope;
import io.weir.retry.RetryBudget;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiFunction;
import java.util.function.Consumer;
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
public final class BackendFactory {

    private final CircuitBreakerRegistry breakers;
    private final BulkheadRegistry bulkheads;
    private final LoopResources loops;
    private final BiFunction<String, UpstreamProtocol, SslContext> sslBundles;
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

    /** Backends as they are to be: all that can fail has not, and of those in force nothing has been changed yet. */
    static final class Plan {

        private final Map<String, Compartment> compartments = new LinkedHashMap<>();
        /** Takes back what was made for them. */
        private final List<Runnable> undoing = new ArrayList<>();

        private Plan() {}

        /** The backends, by name. */
        Map<String, Backend> backends() {
            Map<String, Backend> backends = new LinkedHashMap<>();
            compartments.forEach((name, compartment) -> backends.put(name, compartment.backend()));
            return backends;
        }

        /** Nothing comes of it. */
        void drop() {
            undoing.reversed().forEach(step -> ConfigurationApplier.anyway("taking back what was made for it", step));
        }
    }

    /**
     * A factory.
     *
     * @param loops the event loops, those of the server
     * @param sslBundles TLS by the name of its bundle, for what is to be spoken
     */
    public BackendFactory(
            CircuitBreakerRegistry breakers,
            BulkheadRegistry bulkheads,
            LoopResources loops,
            BiFunction<String, UpstreamProtocol, SslContext> sslBundles,
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
        Plan plan = new Plan();
        try {
            properties.forEach((name, next) -> {
                Compartment before = compartments.get(name);
                plan.compartments.put(
                        name,
                        before == null
                                ? create(name, next, plan)
                                : before.properties().equals(next) ? before : change(name, next, before, plan));
            });
        } catch (RuntimeException e) {
            plan.drop();
            throw e;
        }
        return plan;
    }

    /**
     * Makes the backends what was planned: whatever those who are told of it make of that, it is done.
     *
     * @param left takes what is to be closed once nobody goes by it any more
     */
    synchronized void commit(Plan plan, Consumer<RetiredGenerations.RetiredResource> left) {
        List.copyOf(compartments.keySet()).forEach(name -> {
            if (!plan.compartments.containsKey(name)) {
                left.accept(gone(name));
            }
        });
        plan.compartments.forEach((name, next) -> {
            Compartment before = compartments.put(name, next);
            if (!next.equals(before)) {
                ConfigurationApplier.anyway("backend " + name, () -> settle(before, next, left));
            }
        });
    }

    /** Changes in place what stays. Last is what others are told, who may throw. */
    private void settle(
            @Nullable Compartment before, Compartment next, Consumer<RetiredGenerations.RetiredResource> left) {
        Backend backend = next.backend();
        // Connections before permits: whoever is let in finds one.
        backend.pool().makeRoom(permits(next.properties()));
        fit(next);
        backend.streams().resize(next.properties().maxStreams(), 0);
        if (before != null) {
            Backend old = before.backend();
            if (backend.breaker() != old.breaker()) {
                takeOver(before, next);
            }
            next.meters()
                    .replaceParts(
                            next.properties().bulkhead().maxWaitDuration().toNanos(),
                            backend.breaker(),
                            backend.pool(),
                            backend.retryBudget());
            if (backend.pool() != old.pool()) {
                left.accept(new RetiredGenerations.RetiredResource(
                        old.pool(), () -> old.pool().close().subscribe()));
            }
            close(before.prober());
        }
        HealthProber prober = next.prober();
        if (prober != null) {
            prober.start();
        }
        if (before != null && backend.breaker() != before.backend().breaker()) {
            breakers.replace(backend.name(), backend.breaker().resilience4j());
        }
    }

    private static void takeOver(Compartment before, Compartment next) {
        Breaker breaker = next.backend().breaker();
        if (next.properties().circuitBreaker().equals(before.properties().circuitBreaker())) {
            breaker.continueFrom(before.backend().breaker());
        } else {
            breaker.stayForced(before.backend().breaker());
        }
    }

    /** There are so many gateways now: the limits that are theirs together are divided anew. */
    public synchronized void share(int among) {
        gateways = among;
        compartments.values().stream()
                .filter(compartment -> compartment.properties().bulkhead().scope() == BulkheadScope.CLUSTER)
                .forEach(this::fit);
    }

    /** Gives it the permits and the queue that its properties and the number of gateways come to. */
    private void fit(Compartment compartment) {
        BulkheadProperties bulkhead = compartment.properties().bulkhead();
        Share share = share(bulkhead);
        compartment.backend().bulkhead().resize(share.permits(), bulkhead.queueCapacity());
        QueueingBulkhead trial = compartment.backend().enforcement().trial();
        if (trial != null) {
            trial.resize(share.permits(), bulkhead.queueCapacity());
        }
        compartment.meters().setFloored(share.isFloored());
    }

    private Share share(BulkheadProperties bulkhead) {
        return Share.of(bulkhead.maxConcurrentCalls(), bulkhead.scope() == BulkheadScope.CLUSTER ? gateways : 1);
    }

    private Compartment create(String name, BackendProperties properties, Plan plan) {
        Pool pool = pool(name, properties, plan);
        QueueingBulkhead bulkhead = new QueueingBulkhead(
                share(properties.bulkhead()).permits(), properties.bulkhead().queueCapacity());
        QueueingBulkhead streams = new QueueingBulkhead(properties.maxStreams(), 0);
        BreakerSettings settings = settings(properties);
        // A predecessor of the same name that somebody still goes by is not shown any more.
        plan.undoing.add(() -> bulkheads.remove(name));
        RegisteredBulkhead registered = RegisteredBulkhead.register(bulkheads, name, bulkhead, Map.of());
        breakers.remove(name);
        plan.undoing.add(() -> breakers.remove(name));
        Breaker breaker = breaker(breakers.circuitBreaker(name, settings.resilience4j()), properties);
        RetryBudget budget = new RetryBudget(properties.retryBudget(), System.nanoTime());
        MeterScope page = book.open();
        plan.undoing.add(page::close);
        BackendMeters meters = new BackendMeters(
                page,
                name,
                bulkhead,
                streams,
                properties.bulkhead().maxWaitDuration().toNanos(),
                breaker,
                pool,
                budget,
                littlesLaw,
                System::nanoTime);
        meters.onRejected(registered::publishRejected);
        Backend backend = backend(
                name, properties, bulkhead, streams, breaker, pool, budget, enforcement(properties, null), meters);
        return new Compartment(properties, settings, backend, registered, meters, prober(backend, properties));
    }

    private Compartment change(String name, BackendProperties properties, Compartment before, Plan plan) {
        Backend old = before.backend();
        Pool pool = isPoolKept(before.properties(), properties) ? old.pool() : pool(name, properties, plan);
        BreakerSettings settings = settings(properties);
        Breaker breaker = settings.equals(before.breaker())
                ? old.breaker()
                : breaker(CircuitBreaker.of(name, settings.resilience4j(), breakers.getTags()), properties);
        RetryBudget budget = properties.retryBudget().equals(before.properties().retryBudget())
                ? old.retryBudget()
                : new RetryBudget(properties.retryBudget(), System.nanoTime());
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
        return new Compartment(
                properties, settings, backend, before.registered(), before.meters(), prober(backend, properties));
    }

    /** A backend that there is not any more; those who go by it end what they have begun. */
    private RetiredGenerations.RetiredResource gone(String name) {
        Compartment compartment = compartments.remove(name);
        if (compartment == null) {
            throw new IllegalStateException("backend " + name + " is not there");
        }
        close(compartment.prober());
        Backend backend = compartment.backend();
        return new RetiredGenerations.RetiredResource(backend.pool(), () -> {
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
            trial = tried != null ? tried : new QueueingBulkhead(share(bulkhead).permits(), bulkhead.queueCapacity());
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

    private Pool pool(String name, BackendProperties properties, Plan plan) {
        String bundle = properties.connection().sslBundle();
        @Nullable SslContext tls = bundle == null ? null : sslBundles.apply(bundle, properties.protocol());
        Pool pool = new Pool(
                name,
                properties.uri(),
                properties.protocol(),
                properties.connection(),
                permits(properties),
                tls,
                loops);
        plan.undoing.add(() -> pool.close().subscribe());
        return pool;
    }

    private static String authority(URI uri) {
        return uri.getPort() == -1 ? uri.getHost() : uri.getHost() + ':' + uri.getPort();
    }
}
