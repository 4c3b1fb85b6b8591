package io.weir.sim.fanout;

import io.weir.sim.problem.Setting;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Whom {@code /fanout} asks.
 *
 * @param services the two that are asked; default this service's own {@code /delay?ms=200}, twice
 * @param timeout longest wait for one of them, more than 0 to 10 minutes; default 10 s
 * @param threads platform threads that wait for answers in the way {@code platform}, 1 to 1000; default 64
 */
@ConfigurationProperties("sim.fanout")
record FanOutProperties(
        @Nullable List<URI> services,
        @DefaultValue("10s") Duration timeout,
        @DefaultValue("64") int threads) {

    private static final Duration TIMEOUT_MAX = Duration.ofMinutes(10);

    FanOutProperties {
        Setting.require(
                services == null || services.size() == 2,
                "sim.fanout.services",
                services == null ? "" : services,
                "two addresses, or none");
        Setting.require(
                timeout.isPositive() && timeout.compareTo(TIMEOUT_MAX) <= 0,
                "sim.fanout.timeout",
                timeout,
                "more than 0, to 10 minutes");
        Setting.require(threads >= 1 && threads <= 1000, "sim.fanout.threads", threads, "1 to 1000");
    }
}
