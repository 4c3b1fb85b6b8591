package io.weir.perf.report;

import java.util.Arrays;
import java.util.Collection;

/** Times of requests, in milliseconds. */
final class Latencies {

    private final double[] sorted;

    private Latencies(double[] sorted) {
        this.sorted = sorted;
    }

    /** Of those that succeeded: how soon others were refused is another question. */
    static Latencies ofSuccesses(Collection<Run.Request> requests) {
        return new Latencies(requests.stream()
                .filter(Run.Request::success)
                .mapToDouble(request -> request.micros() / 1000.0)
                .sorted()
                .toArray());
    }

    boolean isEmpty() {
        return sorted.length == 0;
    }

    /** The smallest time that so many percent did not exceed. */
    double percentile(double percent) {
        return sorted.length == 0
                ? Double.NaN
                : sorted[Math.max(0, (int) Math.ceil(sorted.length * percent / 100) - 1)];
    }

    double mean() {
        return Arrays.stream(sorted).average().orElse(Double.NaN);
    }
}
