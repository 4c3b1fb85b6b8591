package io.weir.sim.threads;

import io.weir.sim.problem.PropertyCheck;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The job of {@code /block}, {@code /deferred}, {@code /completable} and {@code /virtual}.
 *
 * @param time duration of the job, more than 0 to 10 minutes; default 2 s
 * @param computeShare share of that time spent computing, 0 to 1; default 0.02
 * @param threads threads for {@code /deferred} and {@code /completable}, 1 to 1000; default 50. Up to 1000
 *     further jobs wait for a thread; more are refused
 */
@ConfigurationProperties("sim.job")
record JobProperties(
        @DefaultValue("2s") Duration time,
        @DefaultValue("0.02") double computeShare,
        @DefaultValue("50") int threads) {

    private static final Duration TIME_MAX = Duration.ofMinutes(10);
    private static final int ROUNDS = 20;

    JobProperties {
        PropertyCheck.require(
                time.isPositive() && time.compareTo(TIME_MAX) <= 0, "sim.job.time", time, "more than 0, to 10 minutes");
        PropertyCheck.require(computeShare >= 0 && computeShare <= 1, "sim.job.compute-share", computeShare, "0 to 1");
        PropertyCheck.require(threads >= 1 && threads <= 1000, "sim.job.threads", threads, "1 to 1000");
    }

    UnitOfWork job() {
        return new UnitOfWork(time, computeShare, ROUNDS);
    }
}
