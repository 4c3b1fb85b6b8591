package io.weir.config;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.reload}: the detection of changed configuration files. {@code POST /actuator/weirreload} always
 * works.
 *
 * @param watch whether the gateway watches its configuration files and reloads them after a change.
 * @param pollInterval time between two checks of the files without a file system event; 100ms to 1h. Polling
 *     is necessary because events can be lost, and network file systems send none.
 * @param quietPeriod time for which changed files must be stable before a reload; 0 to 1m. It avoids the load
 *     of a partially written file.
 * @param history directory in which the gateway keeps the files of the last ten configurations that were in
 *     force, for {@code weir rollback}; it is created if it does not exist. The files can contain secrets, so
 *     only the gateway's user may read them. Default: none is kept.
 */
public record ReloadProperties(
        @DefaultValue("true") boolean watch,

        @DefaultValue("5s") @DurationMin(millis = 100) @DurationMax(hours = 1)
        Duration pollInterval,

        @DefaultValue("100ms") @DurationMin @DurationMax(minutes = 1)
        Duration quietPeriod,

        @Nullable String history) {

    /**
     * Spring Boot's property for the time between two comparisons of the files of a bundle with {@code
     * reload-on-update}; at least {@link #MIN_CERTIFICATE_PERIOD}; default: 10s.
     */
    public static final String CERTIFICATE_PERIOD = "spring.ssl.bundle.watch.file.quiet-period";

    /** A shorter period would read a pair of files between the writes of the two. */
    public static final Duration MIN_CERTIFICATE_PERIOD = Duration.ofMillis(100);
}
