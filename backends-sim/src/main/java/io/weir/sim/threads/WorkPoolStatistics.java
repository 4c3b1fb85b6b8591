package io.weir.sim.threads;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Measures a pool by Little's law, L = λ · W: the average number of requests in a system is their arrival
 * rate times the time that each spends in it, for any distribution.
 *
 * <p>λ and W are measured over a sliding window, which consists of slices that expire one at a time. The law
 * holds over the long run: near the edges of a window some requests have arrived and not yet left. So the
 * window must be long compared with W.
 *
 * <p>Concurrency: one monitor. A request enters it twice for a few additions, which is negligible at the
 * thousand requests per second that such a pool serves.
 */
final class WorkPoolStatistics {

    private static final int SLICES = 20;

    private final LongSupplier nanoTime;
    private final long sliceNanos;
    private final long startNanos;
    private final long[] arrivals = new long[SLICES];
    private final long[] retirements = new long[SLICES];
    private final long[] queueNanos = new long[SLICES];
    private final long[] serviceNanos = new long[SLICES];
    private long newestSlice;
    private long retired;

    WorkPoolStatistics(Duration window, LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.sliceNanos = window.toNanos() / SLICES;
        this.startNanos = nanoTime.getAsLong();
    }

    /**
     * The averages of the window.
     *
     * @param arrivalRate λ, accepted requests per second
     * @param timeInQueue seconds that a request waited for a worker
     * @param serviceTime seconds that a worker spent on a request
     * @param averageActive λ · W
     * @param deadTimeRatio share of the response time spent waiting for a worker
     */
    record Averages(
            double arrivalRate, double timeInQueue, double serviceTime, double averageActive, double deadTimeRatio) {

        double responseTime() {
            return timeInQueue + serviceTime;
        }
    }

    /** A request has been accepted. */
    synchronized void arrived() {
        arrivals[advanceToCurrentSlice()]++;
    }

    /** An accepted request was refused before its work began; it does not count as an arrival. */
    synchronized void refused() {
        arrivals[advanceToCurrentSlice()]--;
    }

    /** A request has been served. */
    synchronized void retired(long inQueueNanos, long inServiceNanos) {
        int slice = advanceToCurrentSlice();
        retirements[slice]++;
        queueNanos[slice] += inQueueNanos;
        serviceNanos[slice] += inServiceNanos;
        retired++;
    }

    synchronized long totalRetired() {
        return retired;
    }

    synchronized Averages averages() {
        advanceToCurrentSlice();
        long now = nanoTime.getAsLong() - startNanos;
        // The newest slice is incomplete, and before the first window has passed there is less than a window.
        long oldestNanos = Math.max(0, (newestSlice - SLICES + 1) * sliceNanos);
        double seconds = (now - oldestNanos) / 1e9;
        double count = sum(retirements);
        if (seconds <= 0 || count == 0) {
            return new Averages(seconds <= 0 ? 0 : Math.max(0, sum(arrivals)) / seconds, 0, 0, 0, 0);
        }
        double arrivalRate = Math.max(0, sum(arrivals)) / seconds;
        double queue = sum(queueNanos) / count / 1e9;
        double service = sum(serviceNanos) / count / 1e9;
        double response = queue + service;
        return new Averages(arrivalRate, queue, service, arrivalRate * response, response == 0 ? 0 : queue / response);
    }

    /** The current slice; clears the slices that have left the window. */
    private int advanceToCurrentSlice() {
        long current = (nanoTime.getAsLong() - startNanos) / sliceNanos;
        for (long fresh = Math.max(newestSlice + 1, current - SLICES + 1); fresh <= current; fresh++) {
            int index = (int) (fresh % SLICES);
            arrivals[index] = 0;
            retirements[index] = 0;
            queueNanos[index] = 0;
            serviceNanos[index] = 0;
        }
        newestSlice = Math.max(newestSlice, current);
        return (int) (newestSlice % SLICES);
    }

    private static double sum(long[] slices) {
        long sum = 0;
        for (long slice : slices) {
            sum += slice;
        }
        return sum;
    }
}
