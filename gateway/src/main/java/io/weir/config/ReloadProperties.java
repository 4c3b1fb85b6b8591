package io.weir.config;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.reload}: how changes of the configuration's files are found. {@code POST /actuator/weirreload} works either way.
 *
 * @param watch whether the files are watched.
 * @param pollInterval time between two looks at the files without an event of the file system; 100ms to 1h. Events can be
 *     lost, and network file systems send none.
 * @param quietPeriod time for which a change has to stand before it is read; 0 to 1m. So that a file that is being written is not
 *     read in the middle.
 */
public record ReloadProperties(
        @DefaultValue("true") boolean watch,

        @DefaultValue("5s") @DurationMin(millis = 100) @DurationMax(hours = 1)
        Duration pollInterval,

        @DefaultValue("100ms") @DurationMin @DurationMax(minutes = 1)
        Duration quietPeriod) {}
