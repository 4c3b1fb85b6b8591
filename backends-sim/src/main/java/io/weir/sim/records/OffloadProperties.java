package io.weir.sim.records;

import io.weir.sim.problem.Setting;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The bounded scheduler that WebFlux hands its JDBC calls to.
 *
 * @param threads threads at most, 1 to 1000; default 100, one for each connection of the pool: fewer leave connections
 *     unused, more only wait for one
 * @param queueCapacity calls that may wait for a thread, 1 to 1000000; default 10000. Beyond it a call is refused with
 *     503, so that a stall in the database cannot fill the memory
 */
@ConfigurationProperties("sim.offload")
public record OffloadProperties(
        @DefaultValue("100") int threads,
        @DefaultValue("10000") int queueCapacity) {

    public OffloadProperties {
        Setting.require(threads >= 1 && threads <= 1000, "sim.offload.threads", threads, "1 to 1000");
        Setting.require(
                queueCapacity >= 1 && queueCapacity <= 1_000_000,
                "sim.offload.queue-capacity",
                queueCapacity,
                "1 to 1000000");
    }
}
