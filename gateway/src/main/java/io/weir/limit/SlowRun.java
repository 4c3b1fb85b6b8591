package io.weir.limit;

/**
 * Slow answers in a row, and whether they are slow because of the calls beside them: in a queue, a call that
 * is sent behind twice as many others takes twice as long; a slow backend is as slow for the first as for the
 * last. Not thread-safe.
 */
final class SlowRun {

    /** As many answers in a row, or as many as the limit if that is less, show a change. */
    private static final int MIN_ANSWERS = 8;

    /** The least standard deviation of the calls in flight that shows something, as a share of their mean. */
    private static final double MIN_SPREAD = .2;

    /** The largest exponent of the latency, as a power of the calls in flight, of a backend that is slow. */
    private static final double MAX_EXPONENT = .5;

    private int answers;
    private double latencies;
    private double inFlights;
    private double squares;
    private double products;

    void clear() {
        answers = 0;
        latencies = 0;
        inFlights = 0;
        squares = 0;
        products = 0;
    }

    void add(double latency, int inFlightAtStart) {
        answers++;
        latencies += latency;
        inFlights += inFlightAtStart;
        squares += (double) inFlightAtStart * inFlightAtStart;
        products += inFlightAtStart * latency;
    }

    boolean isLong(int limit) {
        return answers >= Math.min(MIN_ANSWERS, limit);
    }

    double meanLatency() {
        return latencies / answers;
    }

    /** The rate of answers, by Little's law. */
    double rate() {
        return inFlights / latencies;
    }

    /** Whether some of the calls found few others in flight, and some many. */
    boolean hasSpread() {
        return Math.sqrt(variance()) >= MIN_SPREAD * inFlights / answers;
    }

    /** Whether calls with different numbers of others beside them were equally slow. */
    boolean isAlike() {
        double inFlight = inFlights / answers;
        double covariance = products / answers - meanLatency() * inFlight;
        return hasSpread() && covariance / variance() * inFlight / meanLatency() <= MAX_EXPONENT;
    }

    private double variance() {
        double inFlight = inFlights / answers;
        return squares / answers - inFlight * inFlight;
    }
}
