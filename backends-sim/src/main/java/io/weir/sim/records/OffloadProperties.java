package io.weir.sim.records;

import io.weir.sim.problem.PropertyCheck;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The bounded scheduler to which the WebFlux stack hands its JDBC calls.
 *
 * @param threads maximum threads, 1 to 1000; default 100, one for each connection of the pool. With fewer,
 *     connections stay unused; with more, threads only wait for a connection
 * @param queueCapacity calls that may wait for a thread, 1 to 1000000; default 10000. Further calls are
 *     refused with 503, so that a stalled database cannot fill the memory
 */
@ConfigurationProperties("sim.offload")
public record OffloadProperties(
        @DefaultValue("100") int threads,
        @DefaultValue("10000") int queueCapacity) {

    public OffloadProperties {
        PropertyCheck.require(threads >= 1 && threads <= 1000, "sim.offload.threads", threads, "1 to 1000");
        PropertyCheck.require(
                queueCapacity >= 1 && queueCapacity <= 1_000_000,
                "sim.offload.queue-capacity",
                queueCapacity,
                "1 to 1000000");
    }
}
