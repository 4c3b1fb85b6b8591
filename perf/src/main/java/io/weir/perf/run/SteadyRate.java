package io.weir.perf.run;

/** Rounds of load before a measurement, until a JVM has compiled what the requests need. */
public final class SteadyRate {

    private static final double STEADY = 1.05;

    /** A round of load. */
    @FunctionalInterface
    public interface Round {
        /** The rate of the round; 0: it has none. */
        double rate() throws InterruptedException;
    }

    private SteadyRate() {}

    /**
     * Runs at most so many rounds, until one does not exceed the best by a twentieth. Returns the number of
     * rounds.
     */
    public static int reach(int rounds, Round round) throws InterruptedException {
        double best = 0;
        for (int count = 1; count <= rounds; count++) {
            double rate = round.rate();
            if (rate < STEADY * best) {
                return count;
            }
            best = Math.max(best, rate);
        }
        return rounds;
    }
}
