package io.weir.reload;

import io.weir.config.check.ConfigurationSnapshot;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/**
 * The management endpoint {@code weirconfig}: what is in force, where each value is written, and the last changes. Secrets are masked.
 */
@Endpoint(id = "weirconfig")
public class WeirConfigEndpoint {

    private final LiveConfiguration configuration;

    /** The endpoint of a configuration. */
    public WeirConfigEndpoint(LiveConfiguration configuration) {
        this.configuration = configuration;
    }

    /**
     * What is shown.
     *
     * @param files the files that it comes from
     * @param changes the last ten changes, the latest first
     * @param refused what is written and not in force, since it is not sound; null if it is
     * @param properties what is in force
     */
    record View(
            List<String> files,
            List<ChangeView> changes,
            @Nullable ChangeView refused,
            List<ConfigurationSnapshot.EffectiveValue> properties) {}

    /** The configuration. */
    @ReadOperation
    public Object all() {
        ConfigurationSnapshot inForce = configuration.inForce();
        ChangeHistory history = configuration.history();
        ConfigurationChange refused = history.refused();
        return new View(
                inForce.files().stream().map(Object::toString).toList(),
                history.changes().stream().map(ChangeView::of).toList(),
                refused == null ? null : ChangeView.of(refused),
                inForce.values());
    }
}
