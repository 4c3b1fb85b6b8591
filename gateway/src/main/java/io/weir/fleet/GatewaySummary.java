package io.weir.fleet;

import io.weir.dashboard.BackendSummary;
import io.weir.management.ConfigurationState;
import java.util.List;
import java.util.Objects;

/**
 * The state of one gateway in short.
 *
 * @param version the version of the gateway
 * @param startedAt the time of its start, as ISO 8601 has it
 * @param phase phase of the shutdown: {@code serving}, {@code announced} or {@code refusing}
 * @param configuration the configuration in force, by its hash
 * @param backends the backends, by name
 */
public record GatewaySummary(
        String version,
        String startedAt,
        String phase,
        ConfigurationState configuration,
        List<BackendSummary> backends) {

    /** Refuses missing values: another gateway's answer is read into this record. */
    public GatewaySummary {
        Objects.requireNonNull(version, "version");
        Objects.requireNonNull(startedAt, "startedAt");
        Objects.requireNonNull(phase, "phase");
        Objects.requireNonNull(configuration, "configuration");
        backends = List.copyOf(backends);
    }
}
