package io.weir.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import io.weir.engine.Backend;
import io.weir.engine.ExchangeOutcomes;
import io.weir.engine.ExchangeRecord;
import io.weir.engine.RouteObserver;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * What metrics tell of a route's exchanges: how many, how long, with which outcome, how many bytes.
 *
 * <p>One per route, built when the configuration is read. A timer is created when its outcome first happens, so that
 * the series of outcomes that never happen do not exist; from then on an exchange costs a read of an array and the
 * record itself, and allocates nothing.
 */
public final class ExchangeMeters implements RouteObserver, AutoCloseable {

    private final MeterBook.MeterScope page;
    private final String route;
    private final String backend;
    private final String door;
    private final Counter bytes;
    // Concurrency: two threads that find an outcome new get the same timer, whoever writes it last.
    private final AtomicReferenceArray<@Nullable Timer> timers =
            new AtomicReferenceArray<>(ExchangeOutcomes.words().size());

    /**
     * The meters of a route.
     *
     * @param page takes them; whoever opened it closes it if this fails
     * @param route its id
     * @param backend the name of the backend that it leads to
     * @param door {@code compiled} or {@code general}
     * @param limit its own cap on calls; null: none
     */
    public ExchangeMeters(
            MeterBook.MeterScope page, String route, String backend, String door, @Nullable QueueingBulkhead limit) {
        this.page = page;
        this.route = route;
        this.backend = backend;
        this.door = door;
        this.bytes = page.counter(Meters.RESPONSE_BYTES, backend, route);
        follow(limit);
    }

    /** The route goes on with this cap on calls of its own; null: with none. */
    public void follow(@Nullable QueueingBulkhead limit) {
        if (limit == null) {
            page.removeGauge(Meters.ROUTE_PERMITS_USED, backend, route);
            page.removeGauge(Meters.ROUTE_PERMITS_LIMIT, backend, route);
        } else {
            page.gauge(Meters.ROUTE_PERMITS_USED, limit::inUse, backend, route);
            page.gauge(Meters.ROUTE_PERMITS_LIMIT, limit::maxConcurrentCalls, backend, route);
        }
    }

    /** Whether these are the meters of a route with this backend, by this door. */
    public boolean isOf(String toBackend, String byDoor) {
        return backend.equals(toBackend) && door.equals(byDoor);
    }

    @Override
    public void ended(ExchangeRecord exchange) {
        int outcome = ExchangeOutcomes.index(exchange);
        count(outcome, exchange.totalNanos(), exchange.answerBytes());
        if (exchange.route().backend().observer() instanceof BackendMeters meters) {
            meters.tally().count(outcome, exchange.totalNanos());
        }
        Reason first = exchange.fallbackReason();
        if (first != null) {
            shed(exchange.route().backend(), first);
        } else {
            shed(exchange.backend(), exchange.reason());
        }
    }

    private static void shed(Backend by, @Nullable Reason reason) {
        if (reason != null && reason.isShedding() && by.observer() instanceof BackendMeters meters) {
            meters.shed(reason);
        }
    }

    void count(int outcome, long totalNanos, long answerBytes) {
        Timer timer = timer(outcome);
        if (timer != null) {
            timer.record(totalNanos, TimeUnit.NANOSECONDS);
        }
        if (answerBytes > 0) {
            bytes.increment((double) answerBytes);
        }
    }

    /** The route is gone: so are its series. What is still in flight is not counted any more. */
    @Override
    public void close() {
        page.close();
    }

    private @Nullable Timer timer(int outcome) {
        Timer timer = timers.get(outcome);
        if (timer == null) {
            timer = page.timerIfOpen(
                    Meters.REQUESTS, backend, route, ExchangeOutcomes.words().get(outcome), door);
            timers.set(outcome, timer);
        }
        return timer;
    }
}
