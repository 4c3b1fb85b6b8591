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
 * The snapshot as Hystrix's metrics poller would tell it: for each backend a {@code HystrixCommand} and a {@code
 * HystrixThreadPool}, with each of its fields, in its types.
 *
 * <p>A backend is a command in the isolation of a thread pool: permits are its threads, the bulkhead's queue is the pool's. {@code
 * latencyExecute} is the time with the backend, {@code latencyTotal} the exchange's. What there is no equivalent of, such as collapsed
 * requests, is 0.
 */
final class HystrixEvents {

    private static final String GROUP = "weir";
    private static final double MILLISECOND = 1e6;
    private static final int WINDOW_MILLIS = Window.SECONDS * 1_000;
    private static final int[] PER_MILLE = {0, 250, 500, 750, 900, 950, 990, 995, 1_000};
    private static final List<String> PERCENTS = List.of("0", "25", "50", "75", "90", "95", "99", "99.5", "100");

    private final JsonMapper json;

    HystrixEvents(JsonMapper json) {
        this.json = json;
    }

    /** The events of a second. */
    List<byte[]> events(LiveView now, Map<String, Trace> traces) {
        List<byte[]> events = new ArrayList<>(2 * now.backends().size());
        for (LiveView.OfBackend backend : now.backends()) {
            Trace trace = traces.get(backend.name());
            if (trace != null) {
                events.add(json.writeValueAsBytes(command(now.at(), backend, trace)));
                events.add(json.writeValueAsBytes(threadPool(now.at(), backend, trace)));
            }
        }
        return events;
    }

    /** How often what happened within the window. */
    private record Counts(long success, long badRequests, long failure, long timeout, long shorted, long rejected) {

        static Counts of(long[] outcomes) {
            return new Counts(
                    sum(outcomes, "1xx", "2xx", "3xx", "4xx", ExchangeOutcomes.OTHER),
                    sum(
                            outcomes,
                            Reason.BAD_REQUEST.word(),
                            Reason.PAYLOAD_TOO_LARGE.word(),
                            Reason.URI_TOO_LONG.word(),
                            Reason.HEADERS_TOO_LARGE.word(),
                            Reason.CLIENT_TOO_SLOW.word()),
                    sum(
                            outcomes,
                            "5xx",
                            Reason.CONNECT_FAILED.word(),
                            Reason.CONNECTION_LOST.word(),
                            Reason.INTERNAL_ERROR.word()),
                    sum(outcomes, Reason.DEADLINE_EXCEEDED.word(), Reason.CONNECT_TIMEOUT.word()),
                    sum(outcomes, Reason.CIRCUIT_OPEN.word()),
                    sum(
                            outcomes,
                            Reason.BULKHEAD_FULL.word(),
                            Reason.QUEUE_TIMEOUT.word(),
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
            return failure + timeout + shorted + rejected;
        }

        long requests() {
            return success + errors();
        }
    }

    private static Map<String, @Nullable Object> command(long at, LiveView.OfBackend backend, Trace trace) {
        Counts counts = Counts.of(trace.outcomes());
        long fallbacks = trace.outcomes()[ExchangeOutcomes.words().indexOf(ExchangeOutcomes.FALLBACK)];
        BackendView now = backend.now();
        String state = now.breaker().state();
        long requests = counts.requests();
        Map<String, @Nullable Object> event = new LinkedHashMap<>();
        event.put("type", "HystrixCommand");
        event.put("name", backend.name());
        event.put("group", GROUP);
        event.put("currentTime", at);
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
        event.put("rollingCountShortCircuited", counts.shorted());
        event.put("rollingCountSuccess", counts.success());
        event.put("rollingCountThreadPoolRejected", counts.rejected());
        event.put("rollingCountTimeout", counts.timeout());
        event.put("currentConcurrentExecutionCount", now.calls().active());
        event.put("rollingMaxConcurrentExecutionCount", trace.maxActive());
        event.put("latencyExecute_mean", mean(trace.backendTimes()));
        event.put("latencyExecute", latencies(trace.backendTimes()));
        event.put("latencyTotal_mean", mean(trace.totalTimes()));
        event.put("latencyTotal", latencies(trace.totalTimes()));
        event.put(
                "propertyValue_circuitBreakerRequestVolumeThreshold",
                trace.breakerConfig().getMinimumNumberOfCalls());
        event.put("propertyValue_circuitBreakerSleepWindowInMilliseconds", trace.probeIntervalMillis());
        event.put(
                "propertyValue_circuitBreakerErrorThresholdPercentage",
                Math.round(trace.breakerConfig().getFailureRateThreshold()));
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
        event.put("reportingHosts", 1);
        event.put("threadPool", backend.name());
        return event;
    }

    private static Map<String, Object> threadPool(long at, LiveView.OfBackend backend, Trace trace) {
        BackendView.Calls calls = backend.now().calls();
        Counts counts = Counts.of(trace.outcomes());
        BackendView.Law law = backend.now().law();
        long completed = law == null ? 0 : law.retired();
        long executed = 0;
        for (long count : trace.backendTimes()) {
            executed += count;
        }
        Map<String, Object> event = new LinkedHashMap<>();
        event.put("type", "HystrixThreadPool");
        event.put("name", backend.name());
        event.put("currentTime", at);
        event.put("currentActiveCount", calls.active());
        event.put("currentCompletedTaskCount", completed);
        event.put("currentCorePoolSize", calls.limit());
        event.put("currentLargestPoolSize", trace.largest());
        event.put("currentMaximumPoolSize", calls.limit());
        event.put("currentPoolSize", calls.limit());
        event.put("currentQueueSize", calls.waiting());
        event.put("currentTaskCount", completed + calls.active() + calls.waiting());
        event.put("rollingCountThreadsExecuted", executed);
        event.put("rollingMaxActiveThreads", trace.maxActive());
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
        return (int) Math.round(nanos / MILLISECOND);
    }
}
