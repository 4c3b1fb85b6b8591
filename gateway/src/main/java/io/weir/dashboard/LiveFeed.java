package io.weir.dashboard;

import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.observe.BackendMeters;
import io.weir.observe.Gateway;
import io.weir.observe.GatewayView;
import io.weir.observe.Happenings;
import io.weir.observe.Outcomes;
import io.weir.overload.OverloadGuard;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
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
// Concurrency: all but the counters is guarded by this object's monitor. It is held while a snapshot is computed and
// handed out, which is
// never on an event loop; who comes or goes on one waits for no longer than that.
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
    private final Happenings happenings;
    private final IntSupplier replicas;
    private final InstantSource clock;
    private final long startedAt;
    private final JsonMapper json = LiveJson.mapper();
    private final Frames frames = new Frames();
    private final HystrixEvents hystrix;
    private final Map<String, Trace> traces = new HashMap<>();
    private final Map<Format, Set<Viewer>> viewers = new EnumMap<>(Format.class);
    private final ScheduledExecutorService timer;
    private @Nullable LiveView last;
    /** For who comes before the next second; made when the first one does. */
    private Frames.@Nullable Frame first;

    private long computed;
    private long dropped;
    private boolean closed;

    /**
     * A feed that has not {@linkplain #start started}.
     *
     * @param replicas gateways that are known to share their limits, this one included
     * @param clock the wall clock but for tests
     */
    public LiveFeed(
            Gateway gateway,
            Engine engine,
            OverloadGuard guard,
            Drain drain,
            Happenings happenings,
            IntSupplier replicas,
            InstantSource clock) {
        this.gateway = gateway;
        this.engine = engine;
        this.guard = guard;
        this.drain = drain;
        this.happenings = happenings;
        this.replicas = replicas;
        this.clock = clock;
        this.startedAt = clock.millis();
        this.hystrix = new HystrixEvents(json);
        for (Format format : Format.values()) {
            viewers.put(format, new LinkedHashSet<>());
        }
        this.timer = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().daemon().name("weir-dashboard").factory());
    }

    /** Begins: the first snapshot now, and one every second. */
    @SuppressWarnings("FutureReturnValueIgnored") // It never completes: nothing is thrown, and close() ends it.
    public void start() {
        timer.scheduleAtFixedRate(this::secondSafely, 0, 1, TimeUnit.SECONDS);
    }

    private void secondSafely() {
        try {
            second();
        } catch (RuntimeException e) {
            // An executor drops a task that throws, and every page would stand still.
            log.error("The gateway's state could not be shown", e);
        }
    }

    /** A second has passed. */
    synchronized void second() {
        if (closed) {
            return;
        }
        LiveView now = compute();
        last = now;
        first = null;
        Set<Viewer> snapshots = of(Format.SNAPSHOTS);
        if (!snapshots.isEmpty()) {
            hand(frames.named("snapshot", json.writeValueAsBytes(now)), snapshots);
        }
        Set<Viewer> hystrixes = of(Format.HYSTRIX);
        if (!hystrixes.isEmpty()) {
            hand(frames.nameless(hystrix.events(now, traces)), hystrixes);
        }
    }

    /** Somebody looks from now on; false if there are too many, or the feed has ended. */
    synchronized boolean join(Format format, Viewer viewer) {
        if (closed || viewers() >= MAX_VIEWERS) {
            return false;
        }
        if (last == null) {
            second();
        }
        of(format).add(viewer);
        LiveView now = last;
        if (now != null) {
            viewer.offer(firstFrame(format, now), this::drop);
        }
        return true;
    }

    private Frames.Frame firstFrame(Format format, LiveView now) {
        if (format == Format.HYSTRIX) {
            return frames.nameless(hystrix.events(now, traces));
        }
        Frames.Frame known = first;
        if (known == null) {
            Map<String, LiveView.Past> past = new LinkedHashMap<>();
            now.backends().forEach(backend -> {
                Trace trace = traces.get(backend.name());
                if (trace != null) {
                    past.put(backend.name(), trace.past());
                }
            });
            known = frames.named("full", json.writeValueAsBytes(now.first(VOCABULARY, past)));
            first = known;
        }
        return known;
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
    synchronized long computed() {
        return computed;
    }

    /** Viewers cut off since the start, since they did not keep up. */
    synchronized long dropped() {
        return dropped;
    }

    /** Ends every stream in order. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        timer.shutdownNow();
        viewers.values().forEach(each -> List.copyOf(each).forEach(Viewer::end));
        viewers.values().forEach(Set::clear);
        frames.close();
    }

    private void hand(Frames.Frame frame, Set<Viewer> to) {
        // Who cannot be sent to leaves while it is sent to.
        for (Viewer viewer : List.copyOf(to)) {
            viewer.offer(frame, this::drop);
        }
    }

    private void drop(Viewer viewer) {
        dropped++;
        viewers.values().forEach(each -> each.remove(viewer));
        log.info("A viewer of the dashboard's stream was cut off: it has not taken {} events in a row", Viewer.MISSES);
    }

    private Set<Viewer> of(Format format) {
        Set<Viewer> of = viewers.get(format);
        if (of == null) {
            throw new IllegalStateException("no viewers of " + format);
        }
        return of;
    }

    private LiveView compute() {
        computed++;
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
                null,
                null);
    }

    private static final Map<String, Outcomes.Kind> VOCABULARY = vocabulary();

    private static Map<String, Outcomes.Kind> vocabulary() {
        Map<String, Outcomes.Kind> words = new LinkedHashMap<>();
        List<String> all = Outcomes.words();
        for (int i = 0; i < all.size(); i++) {
            words.put(all.get(i), Outcomes.kind(i));
        }
        return words;
    }
}
