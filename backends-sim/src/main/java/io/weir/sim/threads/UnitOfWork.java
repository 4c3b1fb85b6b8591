package io.weir.sim.threads;

import java.time.Duration;

/**
 * The work for one request. It alternates between computing digits of √2 and waiting, as a real service
 * alternates between its own code and its calls.
 *
 * @param time duration of the whole work
 * @param computeShare share of that time spent computing
 * @param rounds how often computing and waiting alternate
 */
record UnitOfWork(Duration time, double computeShare, int rounds) {

    /** Works on the calling thread, and returns the number of computed digits. */
    int run() throws InterruptedException {
        Sqrt2Digits sqrt2 = new Sqrt2Digits();
        int digits = 0;
        long start = System.nanoTime();
        long round = time.toNanos() / rounds;
        long compute = (long) (round * computeShare);
        for (int i = 0; i < rounds; i++) {
            long begin = start + i * round;
            while (System.nanoTime() - begin < compute) {
                sqrt2.next();
                digits++;
            }
            long rest = begin + round - System.nanoTime();
            if (rest > 0) {
                Thread.sleep(Duration.ofNanos(rest));
            }
        }
        return digits;
    }
}
