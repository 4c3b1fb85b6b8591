package io.weir.reload;

import io.weir.management.ManagementCaller;
import io.weir.reload.ConfigurationChange.Trigger;
import java.util.Map;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.util.MimeType;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * The management endpoint {@code weirreload}: {@code POST /actuator/weirreload} reads the configuration's files now, and puts in force
 * what they say. It answers what has changed, or, with a 400, everything that is wrong; then everything is as it was.
 */
@Endpoint(id = "weirreload")
public class WeirReloadEndpoint {

    private static final MimeType PROBLEM = MimeType.valueOf("application/problem+json");

    private final LiveConfiguration configuration;

    /** The endpoint of a configuration. */
    public WeirReloadEndpoint(LiveConfiguration configuration) {
        this.configuration = configuration;
    }

    /** Reloads. */
    @WriteOperation
    public Mono<WebEndpointResponse<Object>> reload() {
        return Mono.deferContextual(context -> {
            String by = ManagementCaller.of(context);
            return Mono.fromCallable(() -> answer(configuration.reload(Trigger.REQUEST, by)))
                    .subscribeOn(Schedulers.boundedElastic());
        });
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
                        "Everything stays as it was",
                        "problems",
                        change.problems()),
                WebEndpointResponse.STATUS_BAD_REQUEST,
                PROBLEM);
    }
}
