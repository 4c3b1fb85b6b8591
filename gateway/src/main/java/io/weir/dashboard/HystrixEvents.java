package io.weir.dashboard;

import io.weir.engine.ExchangeOutcomes;
import io.weir.limit.LogBuckets;
import io.weir.management.BackendView;
import io.weir.outcome.Reason;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * A snapshot as the events of Hystrix's metrics poller: for each backend a {@code HystrixCommand} and a
 * {@code HystrixThreadPool}, with all of their fields and types.
 *
 * <p>A backend is shown as a command with thread-pool isolation: its permits are the threads, the bulkhead's
 * queue is the pool's queue. {@code latencyExecute} is the time in the backend, {@code latencyTotal} the time
 * of the exchange. Fields without an equivalent, such as collapsed requests, are 0.
 */
final class HystrixEvents {

    private static final String GROUP = "weir";
    private static final double NANOS_PER_MILLI = 1e6;
    private static final int WINDOW_MILLIS = SlidingWindow.SECONDS * 1_000;
    private static final int[] PER_MILLE = {0, 250, 500, 750, 900, 950, 990, 995, 1_000};
    private static final List<String> PERCENTS = List.of("0", "25", "50", "75", "90", "95", "99", "99.5", "100");

    private final JsonMapper json;

    HystrixEvents(JsonMapper json) {
        this.json = json;
    }

    /** The events of one second. */
    List<byte[]> events(LiveView now, Map<String, BackendHistory> histories) {
        List<byte[]> events = new ArrayList<>(2 * now.backends().size());
        for (LiveView.BackendSnapshot backend : now.backends()) {
            BackendHistory history = histories.get(backend.name());
            if (history != null) {
                events.add(json.writeValueAsBytes(command(now.at(), backend, history)));
                events.add(json.writeValueAsBytes(threadPool(now.at(), backend, history)));
            }
        }
        return events;
    }

    /** Exchanges within the window, in the categories of Hystrix. */
    private record Counts(
            long success, long badRequests, long failure, long timeout, long shortCircuited, long rejected) {

        static Counts of(long[] outcomes) {
            return new Counts(
                    sum(outcomes, "1xx", "2xx", "3xx", "4xx", ExchangeOutcomes.OTHER),
                    sum(
                            outcomes,
                            Reason.UNAUTHORIZED.word(),
                            Reason.FORBIDDEN.word(),
                            Reason.RATE_LIMITED.word(),
                            Reason.BAD_REQUEST.word(),
                            Reason.PAYLOAD_TOO_LARGE.word(),
                            Reason.MISDIRECTED.word(),
                            Reason.URI_TOO_LONG.word(),
                            Reason.HEADERS_TOO_LARGE.word(),
                            Reason.CLIENT_TOO_SLOW.word()),
                    sum(
                            outcomes,
                            "5xx",
                            Reason.AUTHORIZER_FAILED.word(),
                            Reason.CONNECT_FAILED.word(),
                            Reason.CONNECTION_LOST.word(),
                            Reason.FAULT_INJECTED.word(),
                            Reason.INTERNAL_ERROR.word()),
                    sum(outcomes, Reason.DEADLINE_EXCEEDED.word(), Reason.CONNECT_TIMEOUT.word()),
                    sum(outcomes, Reason.CIRCUIT_OPEN.word()),
                    sum(
                            outcomes,
                            Reason.BULKHEAD_FULL.word(),
                            Reason.QUEUE_TIMEOUT.word(),
                            Reason.QUEUE_EVICTED.word(),
                            Reason.GATEWAY_OVERLOADED.word(),
                            Reason.SHUTTING_DOWN.word()));
        }

        private static long sum(long[] outcomes, String... words) {
            long sum = 0;
            for (String word : words) {
                sum += outcomes[ExchangeOutcomes.words().indexOf(word)];
            }
            return sum;
        }

        long errors() {
            return failure + timeout + shortCircuited + rejected;
        }

        long requests() {
            return success + errors();
        }
    }

    private static Map<String, @Nullable Object> command(
            long atMillis, LiveView.BackendSnapshot backend, BackendHistory history) {
        Counts counts = Counts.of(history.outcomes());
        long fallbacks = history.outcomes()[ExchangeOutcomes.words().indexOf(ExchangeOutcomes.FALLBACK)];
        BackendView now = backend.now();
        String state = now.breaker().state();
        long requests = counts.requests();
        Map<String, @Nullable Object> event = new LinkedHashMap<>();
        event.put("type", "HystrixCommand");
        event.put("name", backend.name());
        event.put("group", GROUP);
        event.put("currentTime", atMillis);
        event.put("isCircuitBreakerOpen", state.equals("open") || state.equals("forced-open"));
        event.put("errorPercentage", requests == 0 ? 0 : (int) (100 * counts.errors() / requests));
        event.put("errorCount", counts.errors());
        event.put("requestCount", requests);
        event.put("rollingCountBadRequests", counts.badRequests());
        event.put("rollingCountCollapsedRequests", 0);
        event.put("rollingCountEmit", 0);
        event.put("rollingCountExceptionsThrown", counts.errors());
        event.put("rollingCountFailure", counts.failure());
        event.put("rollingCountFallbackEmit", 0);
        event.put("rollingCountFallbackFailure", 0);
        event.put("rollingCountFallbackMissing", 0);
        event.put("rollingCountFallbackRejection", 0);
        event.put("rollingCountFallbackSuccess", fallbacks);
        event.put("rollingCountResponsesFromCache", 0);
        event.put("rollingCountSemaphoreRejected", 0);
        event.put("rollingCountShortCircuited", counts.shortCircuited());
        event.put("rollingCountSuccess", counts.success());
        event.put("rollingCountThreadPoolRejected", counts.rejected());
        event.put("rollingCountTimeout", counts.timeout());
        event.put("currentConcurrentExecutionCount", now.calls().active());
        event.put("rollingMaxConcurrentExecutionCount", history.maxActive());
        event.put("latencyExecute_mean", mean(history.backendTimes()));
        event.put("latencyExecute", latencies(history.backendTimes()));
        event.put("latencyTotal_mean", mean(history.totalTimes()));
        event.put("latencyTotal", latencies(history.totalTimes()));
        putProperties(event, now, history);
        event.put("reportingHosts", 1);
        event.put("threadPool", backend.name());
        return event;
    }

    private static void putProperties(Map<String, @Nullable Object> event, BackendView now, BackendHistory history) {
        String state = now.breaker().state();
        event.put(
                "propertyValue_circuitBreakerRequestVolumeThreshold",
                history.breakerConfig().getMinimumNumberOfCalls());
        event.put("propertyValue_circuitBreakerSleepWindowInMilliseconds", history.probeIntervalMillis());
        event.put(
                "propertyValue_circuitBreakerErrorThresholdPercentage",
                Math.round(history.breakerConfig().getFailureRateThreshold()));
        event.put("propertyValue_circuitBreakerForceOpen", state.equals("forced-open"));
        event.put("propertyValue_circuitBreakerForceClosed", state.equals("forced-closed"));
        event.put("propertyValue_circuitBreakerEnabled", true);
        event.put("propertyValue_executionIsolationStrategy", "THREAD");
        event.put("propertyValue_executionIsolationThreadTimeoutInMilliseconds", (int) now.deadlineMs());
        event.put("propertyValue_executionTimeoutInMilliseconds", (int) now.deadlineMs());
        event.put("propertyValue_executionIsolationThreadInterruptOnTimeout", true);
        event.put("propertyValue_executionIsolationThreadPoolKeyOverride", null);
        event.put(
                "propertyValue_executionIsolationSemaphoreMaxConcurrentRequests",
                now.calls().limit());
        event.put(
                "propertyValue_fallbackIsolationSemaphoreMaxConcurrentRequests",
                now.calls().limit());
        event.put("propertyValue_metricsRollingStatisticalWindowInMilliseconds", WINDOW_MILLIS);
        event.put("propertyValue_requestCacheEnabled", false);
        event.put("propertyValue_requestLogEnabled", false);
    }

    private static Map<String, Object> threadPool(
            long atMillis, LiveView.BackendSnapshot backend, BackendHistory history) {
        BackendView.Calls calls = backend.now().calls();
        Counts counts = Counts.of(history.outcomes());
        long completed = history.completed();
        Map<String, Object> event = new LinkedHashMap<>();
        event.put("type", "HystrixThreadPool");
        event.put("name", backend.name());
        event.put("currentTime", atMillis);
        event.put("currentActiveCount", calls.active());
        event.put("currentCompletedTaskCount", completed);
        event.put("currentCorePoolSize", calls.limit());
        event.put("currentLargestPoolSize", history.maxActiveEver());
        event.put("currentMaximumPoolSize", calls.limit());
        event.put("currentPoolSize", calls.limit());
        event.put("currentQueueSize", calls.waiting());
        event.put("currentTaskCount", completed + calls.active() + calls.waiting());
        event.put("rollingCountThreadsExecuted", history.recentlyCompleted());
        event.put("rollingMaxActiveThreads", history.maxActive());
        event.put("rollingCountCommandRejections", counts.rejected());
        event.put("propertyValue_queueSizeRejectionThreshold", calls.queueCapacity());
        event.put("propertyValue_metricsRollingStatisticalWindowInMilliseconds", WINDOW_MILLIS);
        event.put("reportingHosts", 1);
        return event;
    }

    private static Map<String, Integer> latencies(long[] times) {
        Map<String, Integer> latencies = new LinkedHashMap<>();
        for (int i = 0; i < PER_MILLE.length; i++) {
            latencies.put(PERCENTS.get(i), millis(LogBuckets.quantile(times, PER_MILLE[i], 1_000)));
        }
        return latencies;
    }

    private static int mean(long[] times) {
        long count = 0;
        double sum = 0;
        for (int i = 0; i < times.length; i++) {
            count += times[i];
            sum += times[i] == 0 ? 0 : (double) times[i] * LogBuckets.nanos(i);
        }
        return count == 0 ? 0 : millis((long) (sum / count));
    }

    private static int millis(long nanos) {
        return (int) Math.round(nanos / NANOS_PER_MILLI);
    }
}
