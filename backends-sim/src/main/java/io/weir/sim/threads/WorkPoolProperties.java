package io.weir.sim.threads;

import io.weir.sim.problem.Setting;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The thread pool behind {@code /work}.
 *
 * @param workers threads, 1 to 1000; default 10
 * @param queueCapacity requests that may wait for one, 0 to 1000000, or -1 for no bound: such a pool works off whatever
 *     came, also for callers who have left, and does not recover from an overload while the load lasts; default 100
 * @param policy what happens when the queue is full: reject, discard-oldest, caller-runs; default reject
 * @param serviceTime how long a request's work takes, more than 0 to 10 minutes; default 50 ms
 * @param computeShare share of that which is computing, 0 to 1; default 0.02: ten workers of 50 ms then take a fifth of a
 *     core
 * @param rounds how often computing and waiting alternate, 1 to 1000; default 5
 * @param window time over which rates and averages are taken, 1 s to 10 minutes; default 10 s
 */
@ConfigurationProperties("sim.pool")
record WorkPoolProperties(
        @DefaultValue("10") int workers,
        @DefaultValue("100") int queueCapacity,
        @DefaultValue("reject") QueuePolicy policy,
        @DefaultValue("50ms") Duration serviceTime,
        @DefaultValue("0.02") double computeShare,
        @DefaultValue("5") int rounds,
        @DefaultValue("10s") Duration window) {

    static final int UNBOUNDED = -1;

    private static final Duration TIME_MAX = Duration.ofMinutes(10);

    WorkPoolProperties {
        Setting.require(workers >= 1 && workers <= 1000, "sim.pool.workers", workers, "1 to 1000");
        Setting.require(
                queueCapacity >= UNBOUNDED && queueCapacity <= 1_000_000,
                "sim.pool.queue-capacity",
                queueCapacity,
                "0 to 1000000, or -1 for no bound");
        Setting.require(
                policy != QueuePolicy.DISCARD_OLDEST || queueCapacity != 0,
                "sim.pool.queue-capacity",
                queueCapacity,
                "1 or more with discard-oldest, which needs somebody to discard");
        Setting.require(
                serviceTime.isPositive() && serviceTime.compareTo(TIME_MAX) <= 0,
                "sim.pool.service-time",
                serviceTime,
                "more than 0, to 10 minutes");
        Setting.require(computeShare >= 0 && computeShare <= 1, "sim.pool.compute-share", computeShare, "0 to 1");
        Setting.require(rounds >= 1 && rounds <= 1000, "sim.pool.rounds", rounds, "1 to 1000");
        Setting.require(
                window.toSeconds() >= 1 && window.compareTo(TIME_MAX) <= 0,
                "sim.pool.window",
                window,
                "1s to 10 minutes");
    }

    UnitOfWork work() {
        return new UnitOfWork(serviceTime, computeShare, rounds);
    }
}
