package io.weir.sim.threads;

import java.time.Duration;

/**
 * What a service does for one request: it alternates between computing digits of √2 and waiting, as a real one does
 * between its own code and what it calls.
 *
 * @param time how long the whole takes
 * @param computeShare how much of that is computing
 * @param rounds how often it alternates
 */
record UnitOfWork(Duration time, double computeShare, int rounds) {

    /** Takes the time, on the calling thread, and returns how many digits came out of it. */
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
