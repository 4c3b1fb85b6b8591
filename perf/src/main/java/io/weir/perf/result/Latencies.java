package io.weir.perf.result;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/** Latencies of requests, in milliseconds. */
public final class Latencies {

    private final double[] sorted;

    private Latencies(double[] sorted) {
        this.sorted = sorted;
    }

    public static Latencies of(Collection<Request> requests) {
        return new Latencies(requests.stream()
                .mapToDouble(request -> request.micros() / 1000.0)
                .sorted()
                .toArray());
    }

    /** The latencies of the successful requests: fast refusals would improve every percentile. */
    public static Latencies ofSuccesses(Collection<Request> requests) {
        return of(requests.stream().filter(Request::succeeded).toList());
    }

    /** The smallest latency that the given percentage does not exceed; NaN if there is none. */
    public double percentile(double percent) {
        return sorted.length == 0
                ? Double.NaN
                : sorted[Math.max(0, (int) Math.ceil(sorted.length * percent / 100) - 1)];
    }

    /** The mean; NaN if there is none. */
    public double mean() {
        return Arrays.stream(sorted).average().orElse(Double.NaN);
    }

    /** The median of any values: the middle one, or the mean of the two in the middle. */
    public static double median(Collection<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        return (sorted.get((sorted.size() - 1) / 2) + sorted.get(sorted.size() / 2)) / 2;
    }
}
