package io.weir.sim.stack;

import io.weir.sim.problem.PropertyCheck;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The event loops of the WebFlux stacks.
 *
 * @param workers event loops that serve requests, 1 to 256, or 0 for Reactor Netty's default: one per core,
 *     at least 4; default 0
 */
@ConfigurationProperties("sim.netty")
public record NettyProperties(@DefaultValue("0") int workers) {

    public NettyProperties {
        PropertyCheck.require(
                workers >= 0 && workers <= 256, "sim.netty.workers", workers, "1 to 256, or 0 for the default");
    }

    int workerCount() {
        return workers == 0 ? Math.max(Runtime.getRuntime().availableProcessors(), 4) : workers;
    }
}
