package io.weir.dashboard;

import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.engine.ExchangeOutcomes;
import io.weir.management.Gateway;
import io.weir.management.GatewayView;
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
 * Computes a snapshot a second, encodes it once, and gives it to all who look.
 *
 * <p>It reads the counters also while nobody looks: who opens the page then sees the last two minutes, and the figures of a window are
 * right from the first event on. It encodes only for viewers.
 */
// Concurrency: one thread computes, encodes and hands out; what it makes is its own. Who comes or goes, on an event
// loop, is guarded by this object's monitor, which is held for no longer than it takes to note that.
public final class LiveFeed implements AutoCloseable {

    /** What can be looked at. */
    public enum Format {
        /** {@link LiveView}. */
        SNAPSHOTS,
        /** Hystrix's. */
        HYSTRIX
    }

    /** Viewers at once, of both formats together. */
    public static final int MAX_VIEWERS = 200;

    private static final Logger log = LoggerFactory.getLogger(LiveFeed.class);

    private final Gateway gateway;
    private final Engine engine;
    private final OverloadGuard guard;
    private final Drain drain;
    private final RecentEvents happenings;
    private final Supplier<Optional<RefusedFile>> refused;
    private final IntSupplier replicas;
    private final InstantSource clock;
    private final long startedAt;
    private final JsonMapper json = LiveJson.mapper();
    private final EventFrames frames = new EventFrames();
    private final HystrixEvents hystrix;
    private final Map<String, Trace> traces = new HashMap<>();
    /** Guarded by this. */
    private final Map<Format, Set<Viewer>> viewers = new EnumMap<>(Format.class);

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("weir-dashboard").factory());
    /** What encodes for who comes: the timer's thread, but for tests. */
    private final Executor thread;

    private @Nullable LiveView last;
    /** For who comes before the next second; made when the first one does. */
    private final Map<Format, EventFrames.Frame> first = new EnumMap<>(Format.class);

    private final AtomicLong computed = new AtomicLong();
    private final AtomicLong dropped = new AtomicLong();
    private volatile boolean closed;

    /**
     * A feed that has not {@linkplain #start started}.
     *
     * @param refused what is written in the configuration's files and not in force
     * @param replicas gateways that are known to share their limits, this one included
     * @param clock the wall clock but for tests
     */
    public LiveFeed(
            Gateway gateway,
            Engine engine,
            OverloadGuard guard,
            Drain drain,
            RecentEvents happenings,
            Supplier<Optional<RefusedFile>> refused,
            IntSupplier replicas,
            InstantSource clock) {
        this(gateway, engine, guard, drain, happenings, refused, replicas, clock, null);
    }

    /**
     * A feed that has not {@linkplain #start started}.
     *
     * @param thread welcomes who comes; null: the feed's own
     */
    LiveFeed(
            Gateway gateway,
            Engine engine,
            OverloadGuard guard,
            Drain drain,
            RecentEvents happenings,
            Supplier<Optional<RefusedFile>> refused,
            IntSupplier replicas,
            InstantSource clock,
            @Nullable Executor thread) {
        this.thread = thread == null ? timer : thread;
        this.gateway = gateway;
        this.engine = engine;
        this.guard = guard;
        this.drain = drain;
        this.happenings = happenings;
        this.refused = refused;
        this.replicas = replicas;
        this.clock = clock;
        this.startedAt = clock.millis();
        this.hystrix = new HystrixEvents(json);
        for (Format format : Format.values()) {
            viewers.put(format, new LinkedHashSet<>());
        }
    }

    /** Begins: the first snapshot now, and one every second. */
    @SuppressWarnings("FutureReturnValueIgnored") // It never completes: nothing is thrown, and close() ends it.
    public void start() {
        timer.scheduleAtFixedRate(this::secondSafely, 0, 1, TimeUnit.SECONDS);
    }

    private void secondSafely() {
        safely(this::second);
    }

    private static void safely(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException e) {
            // An executor drops a task that throws, and every page would stand still.
            log.error("The gateway's state could not be shown", e);
        }
    }

    /** A second has passed. */
    void second() {
        if (closed) {
            return;
        }
        LiveView now = compute();
        last = now;
        first.clear();
        List<Viewer> snapshots = looking(Format.SNAPSHOTS);
        if (!snapshots.isEmpty()) {
            hand(frames.named("snapshot", json.writeValueAsBytes(now)), snapshots);
        }
        List<Viewer> hystrixes = looking(Format.HYSTRIX);
        if (!hystrixes.isEmpty()) {
            hand(frames.nameless(hystrix.events(now, traces)), hystrixes);
        }
    }

    /**
     * Somebody looks from now on; false if there are too many, or the feed has ended. The first event follows from the feed's thread: with
     * hundreds of backends it takes milliseconds to encode, which an event loop does not have.
     */
    boolean join(Format format, Viewer viewer) {
        synchronized (this) {
            if (closed || viewers() >= MAX_VIEWERS) {
                return false;
            }
            of(format).add(viewer);
        }
        try {
            thread.execute(() -> safely(() -> welcome(format, viewer)));
        } catch (RejectedExecutionException e) {
            // The feed has been closed since, and with it this viewer's stream.
            log.debug("A viewer came as the feed ended", e);
        }
        return true;
    }

    private void welcome(Format format, Viewer viewer) {
        if (last == null) {
            second();
        }
        LiveView now = last;
        if (now != null && isLooking(format, viewer)) {
            viewer.welcome(first.computeIfAbsent(format, any -> first(any, now)), this::drop);
        }
    }

    private EventFrames.Frame first(Format format, LiveView now) {
        if (format == Format.HYSTRIX) {
            return frames.nameless(hystrix.events(now, traces));
        }
        Map<String, LiveView.Past> past = new LinkedHashMap<>();
        now.backends().forEach(backend -> {
            Trace trace = traces.get(backend.name());
            if (trace != null) {
                past.put(backend.name(), trace.past());
            }
        });
        return frames.named("full", json.writeValueAsBytes(now.first(VOCABULARY, past)));
    }

    /** Somebody looks no longer. */
    synchronized void leave(Format format, Viewer viewer) {
        of(format).remove(viewer);
    }

    /** How many look. */
    public synchronized int viewers() {
        return viewers.values().stream().mapToInt(Set::size).sum();
    }

    /** Snapshots computed since the start. */
    long computed() {
        return computed.get();
    }

    /** Viewers cut off since the start, since they did not keep up. */
    long dropped() {
        return dropped.get();
    }

    /** Ends every stream in order. */
    @Override
    public void close() {
        List<Viewer> all = new ArrayList<>();
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            viewers.values().forEach(all::addAll);
            viewers.values().forEach(Set::clear);
        }
        all.forEach(Viewer::end);
        // After what it may be at.
        timer.execute(frames::close);
        timer.shutdown();
    }

    private void hand(EventFrames.Frame frame, List<Viewer> to) {
        to.forEach(viewer -> viewer.offer(frame, this::drop));
    }

    private void drop(Viewer viewer) {
        dropped.incrementAndGet();
        synchronized (this) {
            viewers.values().forEach(each -> each.remove(viewer));
        }
        log.info("A viewer of the dashboard's stream was cut off: it has not taken {} events in a row", Viewer.MISSES);
    }

    /** Those who have had their first event. */
    private synchronized List<Viewer> looking(Format format) {
        return of(format).stream().filter(Viewer::isWelcomed).toList();
    }

    private synchronized boolean isLooking(Format format, Viewer viewer) {
        return of(format).contains(viewer);
    }

    private Set<Viewer> of(Format format) {
        Set<Viewer> of = viewers.get(format);
        if (of == null) {
            throw new IllegalStateException("no viewers of " + format);
        }
        return of;
    }

    private LiveView compute() {
        computed.incrementAndGet();
        Map<String, Backend> backends = new TreeMap<>(gateway.backends());
        traces.keySet().retainAll(backends.keySet());
        List<LiveView.OfBackend> views = new ArrayList<>(backends.size());
        backends.forEach((name, backend) -> {
            if (backend.observer() instanceof BackendMeters meters) {
                Trace before = traces.get(name);
                Trace trace = before != null && before.isOf(meters) ? before : new Trace(meters);
                traces.put(name, trace);
                views.add(trace.second(backend));
            }
        });
        return new LiveView(
                clock.millis(),
                startedAt,
                Window.SECONDS,
                GatewayView.Whole.of(engine, guard, drain),
                Math.max(1, replicas.getAsInt()),
                views,
                happenings.last(),
                refused.get().orElse(null),
                null,
                null);
    }

    private static final Map<String, ExchangeOutcomes.Kind> VOCABULARY = vocabulary();

    private static Map<String, ExchangeOutcomes.Kind> vocabulary() {
        Map<String, ExchangeOutcomes.Kind> words = new LinkedHashMap<>();
        List<String> all = ExchangeOutcomes.words();
        for (int i = 0; i < all.size(); i++) {
            words.put(all.get(i), ExchangeOutcomes.kind(i));
        }
        return words;
    }
}
