package io.weir.observe;

import io.micrometer.core.instrument.Timer;
import io.weir.drain.Drain;
import io.weir.engine.Engine;
import io.weir.outcome.Reason;
import io.weir.overload.OverloadGuard;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** What metrics tell of the gateway as a whole, and of requests that were refused before a route was known. */
public final class EdgeMeters implements AutoCloseable {

    /** Where a tag has no value, since there is no route. */
    static final String NONE = "none";

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

    private static final String GENERAL = "general";

    private final MeterBook book;
    private final MeterBook.Page page;
    private final Map<String, ExchangeMeters> withoutBackend = new ConcurrentHashMap<>();
    // Concurrency: two threads that find a reason new get the same timer, whoever writes it last.
    private final AtomicReferenceArray<@Nullable Timer> refused =
            new AtomicReferenceArray<>(Outcomes.words().size());

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
        Timer timer = timer(reason);
        if (timer != null) {
            timer.record(0, TimeUnit.NANOSECONDS);
        }
    }

    /**
     * A request was answered by Spring Cloud Gateway itself, without any backend of Weir's: by an unprotected route, or
     * by a filter.
     *
     * @param route the id of the route; one of those configured, so that the tag is bounded
     */
    public void answered(String route, int status, long totalNanos) {
        withoutBackend
                .computeIfAbsent(route, id -> new ExchangeMeters(book, id, NONE, GENERAL, null))
                .count(Outcomes.index(status), totalNanos, 0);
    }

    /** The gateway is gone: so are its series. */
    @Override
    public void close() {
        withoutBackend.values().forEach(ExchangeMeters::close);
        page.close();
    }

    private @Nullable Timer timer(Reason reason) {
        int index = Outcomes.index(reason);
        Timer timer = refused.get(index);
        if (timer == null) {
            timer = page.timerIfOpen(Meters.REQUESTS, NONE, NONE, reason.word(), NONE);
            refused.set(index, timer);
        }
        return timer;
    }
}
