package io.weir.dashboard;

import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.engine.ExchangeOutcomes;
import io.weir.management.Gateway;
import io.weir.management.GatewayView;
import io.weir.management.OperatorChangeView;
import io.weir.management.RecentEvents;
import io.weir.metrics.BackendMeters;
import io.weir.overload.OverloadGuard;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * Computes one snapshot a second, encodes it once, and sends the same bytes to all clients.
 *
 * <p>The feed reads the counters every second, even without clients: so a new client sees the last two
 * minutes, and its first windows are complete. It encodes only if there are clients.
 */
// Concurrency: one thread computes, encodes and sends; the results are confined to it, except the last
// snapshot, which is immutable. The sets of clients, which event loops change, are guarded by this object's
// monitor, which is held only for the change.
public final class LiveFeed implements AutoCloseable {

    /** The formats of the stream. */
    public enum Format {
        /** {@link LiveView}. */
        SNAPSHOTS,
        /** Hystrix's events. */
        HYSTRIX
    }

    /** Maximum number of clients, of both formats together. */
    public static final int MAX_CLIENTS = 200;

    private static final Logger log = LoggerFactory.getLogger(LiveFeed.class);

    private static final Map<String, ExchangeOutcomes.Kind> VOCABULARY = vocabulary();

    private final Gateway gateway;
    private final Engine engine;
    private final OverloadGuard guard;
    private final Drain drain;
    private final RecentEvents recentEvents;
    private final Supplier<Optional<RefusedConfiguration>> refused;
    private final IntSupplier replicas;
    private final InstantSource clock;
    private final long startedAtMillis;
    private final JsonMapper json = LiveJson.mapper();
    private final EventFrames frames = new EventFrames();
    private final HystrixEvents hystrix;
    private final Map<String, BackendHistory> histories = new HashMap<>();
    /** Guarded by this. */
    private final Map<Format, Set<StreamClient>> clients = new EnumMap<>(Format.class);

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("weir-dashboard").factory());
    /** Runs the first event of a new client: the timer's thread, except in tests. */
    private final Executor thread;

    private volatile @Nullable LiveView last;
    /** The first event of clients that come before the next snapshot; created for the first one of them. */
    private final Map<Format, EventFrames.Frame> firstFrames = new EnumMap<>(Format.class);

    private final AtomicLong snapshots = new AtomicLong();
    private final AtomicLong slowClients = new AtomicLong();
    private volatile boolean isClosed;

    /**
     * A feed; {@link #start} starts it.
     *
     * @param refused the refused configuration in the files; empty: the configuration in the files is in
     *     force
     * @param replicas gateways that share limits of scope cluster, this one included
     * @param clock the system clock, except in tests
     */
    public LiveFeed(
            Gateway gateway,
            Engine engine,
            OverloadGuard guard,
            Drain drain,
            RecentEvents recentEvents,
            Supplier<Optional<RefusedConfiguration>> refused,
            IntSupplier replicas,
            InstantSource clock) {
        this(gateway, engine, guard, drain, recentEvents, refused, replicas, clock, null);
    }

    /**
     * A feed; {@link #start} starts it.
     *
     * @param thread runs the first event of a new client; null: the feed's own thread
     */
    LiveFeed(
            Gateway gateway,
            Engine engine,
            OverloadGuard guard,
            Drain drain,
            RecentEvents recentEvents,
            Supplier<Optional<RefusedConfiguration>> refused,
            IntSupplier replicas,
            InstantSource clock,
            @Nullable Executor thread) {
        this.thread = thread == null ? timer : thread;
        this.gateway = gateway;
        this.engine = engine;
        this.guard = guard;
        this.drain = drain;
        this.recentEvents = recentEvents;
        this.refused = refused;
        this.replicas = replicas;
        this.clock = clock;
        this.startedAtMillis = clock.millis();
        this.hystrix = new HystrixEvents(json);
        for (Format format : Format.values()) {
            clients.put(format, new LinkedHashSet<>());
        }
    }

    /** Starts the feed: the first snapshot now, then one each second. */
    @SuppressWarnings("FutureReturnValueIgnored") // The task never throws; close() ends it.
    public void start() {
        timer.scheduleAtFixedRate(() -> runLogged(this::tick), 0, 1, TimeUnit.SECONDS);
    }

    private static void runLogged(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException e) {
            // The executor never runs a task again that has thrown, so all pages would freeze.
            log.error("Dashboard's snapshot failed", e);
        }
    }

    /** Computes a snapshot and sends it; called once a second. */
    void tick() {
        if (isClosed) {
            return;
        }
        LiveView now = compute();
        last = now;
        firstFrames.clear();
        List<StreamClient> snapshotClients = startedClients(Format.SNAPSHOTS);
        if (!snapshotClients.isEmpty()) {
            send(frames.named("snapshot", json.writeValueAsBytes(now)), snapshotClients);
        }
        List<StreamClient> hystrixClients = startedClients(Format.HYSTRIX);
        if (!hystrixClients.isEmpty()) {
            send(frames.nameless(hystrix.events(now, histories)), hystrixClients);
        }
    }

    /**
     * Adds a client; false if there are too many, or the feed is closed. The feed's thread sends the first
     * event: with hundreds of backends its encoding takes milliseconds, too long for an event loop.
     */
    boolean add(Format format, StreamClient client) {
        synchronized (this) {
            if (isClosed || clients() >= MAX_CLIENTS) {
                return false;
            }
            clientsOf(format).add(client);
        }
        try {
            thread.execute(() -> runLogged(() -> sendFirst(format, client)));
        } catch (RejectedExecutionException e) {
            // The feed was closed in the meantime, which has ended this client's stream.
            log.debug("Client of the dashboard's stream came while the feed closed", e);
        }
        return true;
    }

    private void sendFirst(Format format, StreamClient client) {
        if (last == null) {
            tick();
        }
        LiveView now = last;
        if (now != null && isPresent(format, client)) {
            client.start(firstFrames.computeIfAbsent(format, any -> firstFrame(any, now)), this::removeSlow);
        }
    }

    private EventFrames.Frame firstFrame(Format format, LiveView now) {
        if (format == Format.HYSTRIX) {
            return frames.nameless(hystrix.events(now, histories));
        }
        Map<String, LiveView.History> history = new LinkedHashMap<>();
        now.backends().forEach(backend -> {
            BackendHistory known = histories.get(backend.name());
            if (known != null) {
                history.put(backend.name(), known.history());
            }
        });
        return frames.named("full", json.writeValueAsBytes(now.withHistory(VOCABULARY, history)));
    }

    /** Removes a client that has left. */
    synchronized void remove(Format format, StreamClient client) {
        clientsOf(format).remove(client);
    }

    /** Number of clients. */
    public synchronized int clients() {
        return clients.values().stream().mapToInt(Set::size).sum();
    }

    /** The backends of the last snapshot, by name; none before the first snapshot. */
    public List<BackendSummary> summaries() {
        LiveView now = last;
        return now == null
                ? List.of()
                : now.backends().stream().map(BackendSummary::of).toList();
    }

    /** Snapshots computed since the start. */
    long snapshots() {
        return snapshots.get();
    }

    /** Clients disconnected since the start because they were too slow. */
    long slowClients() {
        return slowClients.get();
    }

    /** Ends every stream regularly. */
    @Override
    public void close() {
        List<StreamClient> all = new ArrayList<>();
        synchronized (this) {
            if (isClosed) {
                return;
            }
            isClosed = true;
            clients.values().forEach(all::addAll);
            clients.values().forEach(Set::clear);
        }
        all.forEach(StreamClient::end);
        // On the feed's thread, after the snapshot that it may be encoding.
        timer.execute(frames::close);
        timer.shutdown();
    }

    private void send(EventFrames.Frame frame, List<StreamClient> receivers) {
        receivers.forEach(client -> client.offer(frame, this::removeSlow));
    }

    private void removeSlow(StreamClient client) {
        slowClients.incrementAndGet();
        synchronized (this) {
            clients.values().forEach(each -> each.remove(client));
        }
        log.info(
                "Client of the dashboard's stream disconnected: it missed {} events in a row", StreamClient.MAX_MISSES);
    }

    /** The clients that have received their first event. */
    private synchronized List<StreamClient> startedClients(Format format) {
        return clientsOf(format).stream().filter(StreamClient::isStarted).toList();
    }

    private synchronized boolean isPresent(Format format, StreamClient client) {
        return clientsOf(format).contains(client);
    }

    private Set<StreamClient> clientsOf(Format format) {
        Set<StreamClient> ofFormat = clients.get(format);
        if (ofFormat == null) {
            throw new IllegalStateException("format: " + format + " (expected: one of " + clients.keySet() + ")");
        }
        return ofFormat;
    }

    private LiveView compute() {
        snapshots.incrementAndGet();
        Map<String, Backend> backends = new TreeMap<>(gateway.backends());
        histories.keySet().retainAll(backends.keySet());
        Map<String, List<OperatorChangeView>> changes = gateway.operatorChanges();
        List<LiveView.BackendSnapshot> views = new ArrayList<>(backends.size());
        backends.forEach((name, backend) -> {
            if (backend.observer() instanceof BackendMeters meters) {
                BackendHistory known = histories.get(name);
                BackendHistory history = known != null && known.isOf(meters) ? known : new BackendHistory(meters);
                histories.put(name, history);
                views.add(history.addSecond(backend, changes.getOrDefault(name, List.of())));
            }
        });
        return new LiveView(
                clock.millis(),
                startedAtMillis,
                SlidingWindow.SECONDS,
                GatewayView.Status.of(engine, guard, drain),
                Math.max(1, replicas.getAsInt()),
                views,
                recentEvents.last(),
                gateway.faults(),
                gateway.configuration(),
                refused.get().orElse(null),
                null,
                null);
    }

    private static Map<String, ExchangeOutcomes.Kind> vocabulary() {
        Map<String, ExchangeOutcomes.Kind> kinds = new LinkedHashMap<>();
        List<String> words = ExchangeOutcomes.words();
        for (int i = 0; i < words.size(); i++) {
            kinds.put(words.get(i), ExchangeOutcomes.kind(i));
        }
        return kinds;
    }
}
