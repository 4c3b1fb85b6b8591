package io.weir.sim.threads;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * What a pool's requests say about it: L = λ · W, the average number of requests in a system is the rate at which they
 * arrive times the time that each spends in it, whatever the distributions.
 *
 * <p>λ and W are measured, over a sliding window, in slices that are forgotten one at a time. The law holds for the long
 * run: at the edges of a window some have arrived and not left, so L is as good as the window is long beside W.
 *
 * <p>Concurrency: one monitor. A request takes it twice, for some additions; at the thousand requests a second that such
 * a pool serves it is not felt.
 */
final class LittlesLaw {

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

    LittlesLaw(Duration window, LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.sliceNanos = window.toNanos() / SLICES;
        this.startNanos = nanoTime.getAsLong();
    }

    /**
     * The figures of the window.
     *
     * @param arrivalRate λ, requests a second that were let in
     * @param timeInQueue seconds a request waited for a worker
     * @param serviceTime seconds a worker spent on it
     * @param averageActive λ · W
     * @param deadTimeRatio share of the response time that was spent waiting for a worker
     */
    record Figures(
            double arrivalRate, double timeInQueue, double serviceTime, double averageActive, double deadTimeRatio) {

        double responseTime() {
            return timeInQueue + serviceTime;
        }
    }

    /** A request was let in. */
    synchronized void arrived() {
        arrivals[slice()]++;
    }

    /** A request that had been let in was put out again, unserved: it never was in the system. */
    synchronized void withdrawn() {
        arrivals[slice()]--;
    }

    /** A request is done. */
    synchronized void retired(long inQueueNanos, long inServiceNanos) {
        int slice = slice();
        retirements[slice]++;
        queueNanos[slice] += inQueueNanos;
        serviceNanos[slice] += inServiceNanos;
        retired++;
    }

    synchronized long totalRetired() {
        return retired;
    }

    synchronized Figures figures() {
        slice();
        long now = nanoTime.getAsLong() - startNanos;
        // The newest slice is not over yet; before the first window is over, there is less than a window.
        long oldestNanos = Math.max(0, (newestSlice - SLICES + 1) * sliceNanos);
        double seconds = (now - oldestNanos) / 1e9;
        double count = sum(retirements);
        if (seconds <= 0 || count == 0) {
            return new Figures(seconds <= 0 ? 0 : Math.max(0, sum(arrivals)) / seconds, 0, 0, 0, 0);
        }
        double arrivalRate = Math.max(0, sum(arrivals)) / seconds;
        double queue = sum(queueNanos) / count / 1e9;
        double service = sum(serviceNanos) / count / 1e9;
        double response = queue + service;
        return new Figures(arrivalRate, queue, service, arrivalRate * response, response == 0 ? 0 : queue / response);
    }

    /** The slice of now, after forgetting those that have left the window. */
    private int slice() {
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
