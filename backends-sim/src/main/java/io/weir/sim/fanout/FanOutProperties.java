package io.weir.sim.fanout;

import io.weir.sim.problem.PropertyCheck;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The services that {@code /fanout} calls.
 *
 * @param services the two services; default this service's own {@code /delay?ms=200}, twice
 * @param timeout longest wait for one answer, more than 0 to 10 minutes; default 10 s
 * @param threads platform threads that wait for answers in {@code /fanout/platform}, 1 to 1000; default 64
 */
@ConfigurationProperties("sim.fanout")
record FanOutProperties(
        @Nullable List<URI> services,
        @DefaultValue("10s") Duration timeout,
        @DefaultValue("64") int threads) {

    private static final Duration TIMEOUT_MAX = Duration.ofMinutes(10);

    FanOutProperties {
        PropertyCheck.require(
                services == null || services.size() == 2,
                "sim.fanout.services",
                services == null ? "" : services,
                "two addresses, or none");
        PropertyCheck.require(
                timeout.isPositive() && timeout.compareTo(TIMEOUT_MAX) <= 0,
                "sim.fanout.timeout",
                timeout,
                "more than 0, to 10 minutes");
        PropertyCheck.require(threads >= 1 && threads <= 1000, "sim.fanout.threads", threads, "1 to 1000");
    }
}
