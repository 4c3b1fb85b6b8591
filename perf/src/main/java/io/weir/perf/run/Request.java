package io.weir.perf.run;

import java.util.Arrays;
import java.util.Collection;
import java.util.function.Predicate;

/**
 * A request that has ended, as its caller saw it.
 *
 * @param atMillis when it was sent, since the run began
 * @param micros from then to its end
 * @param name what it was
 * @param outcome {@code success}, the gateway's reason, {@code status-500}, or {@code timeout}, {@code reset} and the like if there was no answer
 */
public record Request(long atMillis, long micros, String name, String outcome) {

    /** The outcome of a request that was answered with 200. */
    public static final String SUCCESS = "success";

    /** Whether it was answered with 200. */
    public boolean succeeded() {
        return outcome.equals(SUCCESS);
    }

    /** The share, in percent; of nothing: 0. */
    public static double percent(Collection<Request> of, Predicate<Request> which) {
        return of.isEmpty() ? 0 : 100.0 * of.stream().filter(which).count() / of.size();
    }

    /** The smallest time that so many percent do not exceed, in milliseconds; of nothing: 0. */
    public static double percentile(Collection<Request> of, double percent) {
        long[] sorted = of.stream().mapToLong(Request::micros).toArray();
        Arrays.sort(sorted);
        return sorted.length == 0
                ? 0
                : sorted[Math.max(0, (int) Math.ceil(sorted.length * percent / 100) - 1)] / 1000.0;
    }
}
