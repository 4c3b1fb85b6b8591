package io.weir.perf.result;

import java.time.Duration;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Completed requests and their figures. Latencies are in milliseconds. */
public record Requests(List<Request> all) implements Iterable<Request> {

    public Requests {
        all = List.copyOf(all);
    }

    public static Requests of(Collection<Requests> several) {
        return new Requests(several.stream().flatMap(Requests::stream).toList());
    }

    public Stream<Request> stream() {
        return all.stream();
    }

    @Override
    public Iterator<Request> iterator() {
        return all.iterator();
    }

    public int size() {
        return all.size();
    }

    public boolean isEmpty() {
        return all.isEmpty();
    }

    public Requests where(Predicate<Request> matches) {
        return new Requests(stream().filter(matches).toList());
    }

    public Requests successes() {
        return where(Request::succeeded);
    }

    public Requests failures() {
        return where(one -> !one.succeeded());
    }

    public Requests sentBetween(long fromMillis, long toMillis) {
        return where(one -> one.atMillis() >= fromMillis && one.atMillis() < toMillis);
    }

    public Map<String, Requests> by(Function<Request, String> property) {
        return stream()
                .collect(Collectors.groupingBy(
                        property, TreeMap::new, Collectors.collectingAndThen(Collectors.toList(), Requests::new)));
    }

    public Map<String, Long> countByOutcome() {
        return stream().collect(Collectors.groupingBy(Request::outcome, TreeMap::new, Collectors.counting()));
    }

    public long count(Predicate<Request> matches) {
        return stream().filter(matches).count();
    }

    public double servedWithin(Duration time) {
        return count(one -> one.succeeded() && one.micros() <= TimeUnit.NANOSECONDS.toMicros(time.toNanos()));
    }

    /** The end of the first success that ends after a moment; infinite if there is none. */
    public double firstSuccessAfter(long atMillis) {
        return successes().stream()
                .mapToDouble(Request::endMillis)
                .filter(end -> end > atMillis)
                .min()
                .orElse(Double.POSITIVE_INFINITY);
    }

    /** The share of the requests that match, in percent; 0 if there are no requests. */
    public double percent(Predicate<Request> matches) {
        return isEmpty() ? 0 : 100.0 * count(matches) / size();
    }

    /** The share of the successful requests, in percent; 0 if there are no requests. */
    public double successPercent() {
        return percent(Request::succeeded);
    }

    /** The smallest latency that the given percentage does not exceed; NaN if there are no requests. */
    public double percentile(double percent) {
        double[] sorted = stream().mapToDouble(Request::millis).sorted().toArray();
        int index = (int) Math.ceil(sorted.length * percent / 100) - 1;
        return isEmpty() ? Double.NaN : sorted[Math.max(0, index)];
    }

    public double mean() {
        return stream().mapToDouble(Request::millis).average().orElse(Double.NaN);
    }

    /** The time from the first request sent to the last one completed; 0 if there are no requests. */
    public double seconds() {
        double began = stream().mapToDouble(Request::atMillis).min().orElse(0);
        return (stream().mapToDouble(Request::endMillis).max().orElse(0) - began) / 1000;
    }

    /** The median of any values: the middle one, or the mean of the two in the middle. */
    public static double median(Collection<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        return (sorted.get((sorted.size() - 1) / 2) + sorted.get(sorted.size() / 2)) / 2;
    }
}
