package io.weir.reload;

import io.weir.management.ManagementCaller;
import io.weir.reload.ConfigurationChange.Trigger;
import java.util.Map;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.util.MimeType;
import reactor.core.publisher.Mono;

/**
 * The management endpoint {@code weirreload}: {@code POST /actuator/weirreload} reloads the configuration's
 * files now. It returns the changed values, or status 400 with all problems; then the current configuration
 * stays in force.
 */
@Endpoint(id = "weirreload")
public class WeirReloadEndpoint {

    private static final MimeType PROBLEM = MimeType.valueOf("application/problem+json");

    private final LiveConfiguration configuration;

    /** Creates the endpoint. */
    public WeirReloadEndpoint(LiveConfiguration configuration) {
        this.configuration = configuration;
    }

    /** Reloads the configuration. */
    @WriteOperation
    public Mono<WebEndpointResponse<Object>> reload() {
        return ManagementCaller.run(by -> answer(configuration.reload(Trigger.REQUEST, by)));
    }

    private static WebEndpointResponse<Object> answer(ConfigurationChange change) {
        if (change.isApplied()) {
            return new WebEndpointResponse<>(ChangeView.of(change));
        }
        return new WebEndpointResponse<>(
                Map.of(
                        "type",
                        "about:blank",
                        "title",
                        "Configuration not changed",
                        "status",
                        WebEndpointResponse.STATUS_BAD_REQUEST,
                        "detail",
                        "The current configuration stays in force",
                        "problems",
                        change.problems()),
                WebEndpointResponse.STATUS_BAD_REQUEST,
                PROBLEM);
    }
}
