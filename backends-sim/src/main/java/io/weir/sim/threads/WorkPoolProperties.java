package io.weir.sim.threads;

import io.weir.sim.problem.PropertyCheck;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The thread pool behind {@code /work}.
 *
 * @param workers threads, 1 to 1000; default 10
 * @param queueCapacity requests that may wait for a worker, 0 to 1000000, or -1 for no bound; default 100. An
 *     unbounded pool serves every request, also those whose callers have left, and does not recover from an
 *     overload while the load lasts
 * @param policy handling of a request that finds the queue full: reject, discard-oldest or caller-runs;
 *     default reject
 * @param serviceTime work time of a request, more than 0 to 10 minutes; default 50 ms
 * @param computeShare share of the work time spent computing, 0 to 1; default 0.02: ten workers of 50 ms then
 *     use a fifth of a core
 * @param rounds how often computing and waiting alternate, 1 to 1000; default 5
 * @param window time over which rates and averages are computed, 1 s to 10 minutes; default 10 s
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
        PropertyCheck.require(workers >= 1 && workers <= 1000, "sim.pool.workers", workers, "1 to 1000");
        PropertyCheck.require(
                queueCapacity >= UNBOUNDED && queueCapacity <= 1_000_000,
                "sim.pool.queue-capacity",
                queueCapacity,
                "0 to 1000000, or -1 for no bound");
        PropertyCheck.require(
                policy != QueuePolicy.DISCARD_OLDEST || queueCapacity != 0,
                "sim.pool.queue-capacity",
                queueCapacity,
                "1 or more with discard-oldest, which discards a waiting request");
        PropertyCheck.require(
                serviceTime.isPositive() && serviceTime.compareTo(TIME_MAX) <= 0,
                "sim.pool.service-time",
                serviceTime,
                "more than 0, to 10 minutes");
        PropertyCheck.require(computeShare >= 0 && computeShare <= 1, "sim.pool.compute-share", computeShare, "0 to 1");
        PropertyCheck.require(rounds >= 1 && rounds <= 1000, "sim.pool.rounds", rounds, "1 to 1000");
        PropertyCheck.require(
                window.toSeconds() >= 1 && window.compareTo(TIME_MAX) <= 0,
                "sim.pool.window",
                window,
                "1s to 10 minutes");
    }

    UnitOfWork work() {
        return new UnitOfWork(serviceTime, computeShare, rounds);
    }
}
