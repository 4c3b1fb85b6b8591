package io.weir.metrics;

import io.micrometer.core.instrument.Timer;
import io.weir.accesslog.AccessLog;
import io.weir.drain.Drain;
import io.weir.engine.Engine;
import io.weir.engine.ExchangeOutcomes;
import io.weir.outcome.Reason;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadSampler;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** What metrics tell of the gateway as a whole, and of requests that never had an exchange. */
public final class EdgeMeters implements AutoCloseable {

    /** Where a tag has no value, since there is no route. */
    static final String NONE = "none";

    /** Only Spring Cloud Gateway answers without an exchange. */
    private static final String GENERAL = "general";

    private static final double PERCENT = 100;
    private static final double SECOND = 1e9;

    /** Callers' connections, as whoever accepts them counts them. */
    public interface Connections {

        /** Open now. */
        int open();

        /** That may be open. */
        int limit();

        /** Closed at once because of the limit, since the start. */
        long rejected();
    }

    private final MeterBook.MeterScope page;
    // Concurrency: two threads that find a reason new get the same timer, whoever writes it last.
    private final AtomicReferenceArray<@Nullable Timer> refused =
            new AtomicReferenceArray<>(ExchangeOutcomes.words().size());
    /** By the route's id; as many as there are routes. */
    private final ConcurrentHashMap<String, Answered> answered = new ConcurrentHashMap<>();

    private final MeterBook book;

    /** Null: those that there were at the start; guarded by this. */
    private @Nullable Set<String> routes;

    /**
     * The meters of the gateway as a whole.
     *
     * @param log the access log; null if there is none
     */
    public EdgeMeters(
            MeterBook book,
            Engine engine,
            OverloadGuard guard,
            OverloadSampler sampler,
            Drain drain,
            Connections connections,
            @Nullable AccessLog log) {
        this.book = book;
        this.page = book.open();
        page.gauge(Meters.CONNECTIONS_OPEN, connections::open);
        page.gauge(Meters.CONNECTIONS_LIMIT, connections::limit);
        page.counter(Meters.CONNECTIONS_REJECTED, connections::rejected);
        page.gauge(Meters.IN_FLIGHT, engine::inFlight);
        page.gauge(Meters.IN_FLIGHT_LIMIT, guard::maxInFlight);
        page.gauge(Meters.EVENT_LOOP_DELAY, () -> guard.loopDelayNanos() / SECOND);
        page.gauge(Meters.MEMORY_USED, () -> sampler.directPercent() / PERCENT, "direct");
        page.gauge(Meters.MEMORY_USED, () -> sampler.heapPercent() / PERCENT, "heap");
        page.gauge(Meters.DRAINING, () -> drain.isClosingConnections() ? 1 : 0);
        if (log != null) {
            page.counter(Meters.ACCESS_LOG_DROPPED, log::dropped);
        }
    }

    /**
     * A request was refused before a route was known: it is malformed, or none matches. It took no time worth telling.
     */
    public void refused(Reason reason) {
        Timer timer = timer(page, refused, ExchangeOutcomes.index(reason), NONE, NONE);
        if (timer != null) {
            timer.record(0, TimeUnit.NANOSECONDS);
        }
    }

    /**
     * A request was answered on a route, but by no exchange: by an unprotected route's backend, or by a filter.
     *
     * @param route the route's id
     */
    public void answered(String route, int status, long totalNanos) {
        record(route, ExchangeOutcomes.index(status), totalNanos);
    }

    /**
     * A request was refused on a route, and never had an exchange: a filter failed.
     *
     * @param route the route's id
     */
    public void failed(String route, Reason reason, long totalNanos) {
        record(route, ExchangeOutcomes.index(reason), totalNanos);
    }

    private void record(String route, int outcome, long totalNanos) {
        Answered known = answered.get(route);
        Answered of = known == null ? begun(route) : known;
        if (of == null) {
            return;
        }
        Timer timer = timer(of.page, of.timers, outcome, route, GENERAL);
        if (timer != null) {
            timer.record(totalNanos, TimeUnit.NANOSECONDS);
        }
    }

    /** Those of a route that had none; null if it is gone, and only this request goes by it. */
    private synchronized @Nullable Answered begun(String route) {
        return isGone(route) ? null : answered.computeIfAbsent(route, id -> new Answered(book.open()));
    }

    private boolean isGone(String route) {
        Set<String> known = routes;
        return known != null && !known.contains(route) && !route.equals(NONE);
    }

    /** There are these routes now: the series of others are gone. */
    public synchronized void retain(Set<String> now) {
        routes = Set.copyOf(now);
        answered.entrySet().removeIf(entry -> {
            boolean gone = isGone(entry.getKey());
            if (gone) {
                entry.getValue().page.close();
            }
            return gone;
        });
    }

    /** The gateway is gone: so are its series. */
    @Override
    public void close() {
        answered.values().forEach(of -> of.page.close());
        page.close();
    }

    private static @Nullable Timer timer(
            MeterBook.MeterScope page,
            AtomicReferenceArray<@Nullable Timer> timers,
            int outcome,
            String route,
            String door) {
        Timer timer = timers.get(outcome);
        if (timer == null) {
            timer = page.timerIfOpen(
                    Meters.REQUESTS, NONE, route, ExchangeOutcomes.words().get(outcome), door);
            timers.set(outcome, timer);
        }
        return timer;
    }

    /** The timers of a route whose requests Spring Cloud Gateway answers. */
    private static final class Answered {

        private final MeterBook.MeterScope page;
        private final AtomicReferenceArray<@Nullable Timer> timers =
                new AtomicReferenceArray<>(ExchangeOutcomes.words().size());

        Answered(MeterBook.MeterScope page) {
            this.page = page;
        }
    }
}
