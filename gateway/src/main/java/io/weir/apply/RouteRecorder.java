package io.weir.apply;

import io.weir.accesslog.AccessLog;
import io.weir.engine.ExchangeRecord;
import io.weir.engine.ExchangeTrace;
import io.weir.engine.RouteObserver;
import io.weir.metrics.ExchangeMeters;
import io.weir.tracing.Tracing;
import org.jspecify.annotations.Nullable;

/**
 * Records the exchanges of one route in its meters, the access log and traces.
 *
 * @param meters the route's meters
 * @param accessLog null: the access log is disabled
 * @param tracing null: tracing is disabled
 */
record RouteRecorder(
        ExchangeMeters meters,
        @Nullable AccessLog accessLog,
        @Nullable Tracing tracing) implements RouteObserver {

    @Override
    public @Nullable ExchangeTrace began(ExchangeRecord exchange) {
        return tracing == null ? null : tracing.began(exchange);
    }

    @Override
    public void ended(ExchangeRecord exchange) {
        meters.ended(exchange);
        if (accessLog != null) {
            accessLog.ended(exchange);
        }
    }
}
