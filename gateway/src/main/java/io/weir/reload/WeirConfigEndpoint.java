package io.weir.reload;

import io.weir.config.check.ConfigurationSnapshot;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/**
 * The management endpoint {@code weirconfig}: the configuration in force, the origin of each value, and the
 * last changes. Secrets are masked.
 */
@Endpoint(id = "weirconfig")
public class WeirConfigEndpoint {

    private final LiveConfiguration configuration;

    /** Creates the endpoint. */
    public WeirConfigEndpoint(LiveConfiguration configuration) {
        this.configuration = configuration;
    }

    /**
     * The response.
     *
     * @param hash the hash of the values in the files, without the changes of operators
     * @param files the configuration's files
     * @param changes the last ten applied changes, the latest first
     * @param refused the last rejected change; null if the content of the files is in force
     * @param properties the effective values
     */
    record View(
            String hash,
            List<String> files,
            List<ChangeView> changes,
            @Nullable ChangeView refused,
            List<ConfigurationSnapshot.EffectiveValue> properties) {}

    /** Returns the configuration in force. */
    @ReadOperation
    public Object all() {
        ConfigurationSnapshot inForce = configuration.inForce();
        ChangeHistory history = configuration.history();
        ConfigurationChange rejected = history.lastRejected();
        return new View(
                configuration.state().hash(),
                inForce.files().stream().map(Object::toString).toList(),
                history.changes().stream().map(ChangeView::of).toList(),
                rejected == null ? null : ChangeView.of(rejected),
                inForce.values());
    }
}
