package io.weir.authentication;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.JWKSet;
import java.net.http.HttpClient;
import java.time.Clock;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The issuers in force. A change of the configuration keeps the known keys of an issuer whose {@code iss}
 * stays, whatever else changes; they are fetched again if their source or their intervals change.
 *
 * <p>One thread begins the fetches that are due, and checks once a second. Without issuers there is neither
 * this thread nor a client.
 */
// Concurrency: changes are guarded by this. Requests use the issuers that their route holds, not this object.
public final class Issuers implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(Issuers.class);

    private static final long CHECK_SECONDS = 1;

    private final Clock clock;
    private final LongSupplier nanoClock;
    private final DoubleSupplier random;
    private final Consumer<Collection<Issuer>> listener;
    private final Function<IssuerProperties, KeySource> sources;
    private final boolean hasThread;
    private volatile Map<String, Issuer> inForce = Map.of();
    /** The algorithms whose verification is warm. Their classes are the same for all issuers. */
    private final Set<JWSAlgorithm> warm = ConcurrentHashMap.newKeySet();

    private @Nullable ScheduledExecutorService thread;
    private @Nullable HttpClient http;

    /**
     * No issuers yet.
     *
     * @param clock for the validity of tokens
     * @param nanoClock {@link System#nanoTime} except in tests
     * @param random values from 0 to 1
     * @param listener receives the issuers of each configuration
     */
    public Issuers(Clock clock, LongSupplier nanoClock, DoubleSupplier random, Consumer<Collection<Issuer>> listener) {
        this.clock = clock;
        this.nanoClock = nanoClock;
        this.random = random;
        this.listener = listener;
        this.hasThread = true;
        this.sources = properties -> {
            // The client and its threads exist from the first fetch on: a plan may be discarded.
            return () -> new JwkSetClient(http(), properties).fetch();
        };
    }

    /** No issuers, other sources of keys, and no thread: tests call {@link #refreshIfDue}. */
    Issuers(Clock clock, LongSupplier nanoClock, Function<IssuerProperties, KeySource> sources) {
        this.clock = clock;
        this.nanoClock = nanoClock;
        this.random = () -> 0;
        this.hasThread = false;
        this.listener = issuers -> {};
        this.sources = sources;
    }

    /** The issuers of the next configuration, by name. The issuers in force do not change. */
    public Map<String, Issuer> plan(AuthenticationProperties properties) {
        Map<String, Issuer> next = new HashMap<>();
        properties.issuers().forEach((name, issuer) -> next.put(name, plan(name, issuer)));
        return Map.copyOf(next);
    }

    private Issuer plan(String name, IssuerProperties next) {
        Issuer before = inForce.get(name);
        if (before != null && before.properties().equals(next)) {
            return before;
        }
        if (before != null && before.properties().hasSameKeySource(next)) {
            return new Issuer(name, next, before.keys(), clock);
        }
        return new Issuer(
                name, next, new IssuerKeys(name, next, sources.apply(next), known(next), nanoClock, random), clock);
    }

    /** The known keys of the issuer, also under another name; null: none. */
    private @Nullable JWKSet known(IssuerProperties next) {
        return inForce.values().stream()
                .filter(issuer -> issuer.isIssuerOf(next.issuer()))
                .map(issuer -> issuer.keys().inForce())
                .filter(keys -> keys != null)
                .findFirst()
                .orElse(null);
    }

    /** Puts planned issuers in force, and begins to fetch the keys of new ones. */
    public synchronized void commit(Map<String, Issuer> next) {
        inForce = Map.copyOf(next);
        listener.accept(List.copyOf(next.values()));
        ScheduledExecutorService present = thread;
        if (next.isEmpty()) {
            close();
        } else if (present == null && hasThread) {
            ScheduledExecutorService started = Executors.newSingleThreadScheduledExecutor(task ->
                    Thread.ofPlatform().daemon().name("weir-issuer-keys").unstarted(task));
            var _ = started.scheduleWithFixedDelay(this::refreshIfDue, 0, CHECK_SECONDS, TimeUnit.SECONDS);
            thread = started;
        } else if (present != null) {
            present.execute(this::refreshIfDue);
        }
    }

    /** Begins the fetches that are due, and warms up the verification with keys that have become known. */
    void refreshIfDue() {
        try {
            inForce.values().forEach(issuer -> issuer.keys().refreshIfDue());
            inForce.values().forEach(issuer -> issuer.warmUp(warm));
        } catch (RuntimeException e) {
            // The next check follows in any case.
            log.error("The check of the issuers' keys failed", e);
        }
    }

    /** The algorithms whose verification is warm. */
    Set<JWSAlgorithm> warm() {
        return Set.copyOf(warm);
    }

    private synchronized HttpClient http() {
        HttpClient present = http;
        if (present == null) {
            present = HttpClient.newBuilder()
                    .followRedirects(HttpClient.Redirect.NORMAL)
                    .build();
            http = present;
        }
        return present;
    }

    /** Ends the fetches. */
    @Override
    public synchronized void close() {
        ScheduledExecutorService running = thread;
        if (running != null) {
            running.shutdownNow();
            thread = null;
        }
        HttpClient client = http;
        if (client != null) {
            client.shutdownNow();
            http = null;
        }
    }
}
