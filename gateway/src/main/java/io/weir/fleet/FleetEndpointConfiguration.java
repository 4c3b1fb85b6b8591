package io.weir.fleet;

import io.weir.management.ManagementCaller;
import org.springframework.boot.actuate.autoconfigure.endpoint.web.WebEndpointProperties;
import org.springframework.boot.actuate.autoconfigure.web.server.ConditionalOnManagementPort;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementPortType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import tools.jackson.databind.json.JsonMapper;

/**
 * Adds the view of all gateways, and the changes of all gateways, to the application context of the
 * management port, behind its guard.
 *
 * <p>Spring Boot reads the class's name from {@code
 * META-INF/spring/...ManagementContextConfiguration.imports}. The class has no stereotype annotation on
 * purpose: a component scan would add them to the gateway's own port, too.
 */
@ConditionalOnBean(Fleet.class)
public class FleetEndpointConfiguration {

    /** Passes changes on; only on a management port of its own. */
    @Bean
    @ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
    static WebFilter fleetFilter(Fleet fleet, WebEndpointProperties endpoints) {
        return new FleetFilter(
                fleet,
                endpoints.getBasePath(),
                name -> endpoints.getPathMapping().getOrDefault(name, name));
    }

    /** Shows all gateways; only on a management port of its own. */
    @Bean
    @ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
    static RouterFunction<ServerResponse> fleetView(Fleet fleet, WebEndpointProperties endpoints) {
        return RouterFunctions.route()
                .GET(endpoints.getBasePath() + "/weirfleet", request -> view(fleet, request))
                .build();
    }

    private static Mono<ServerResponse> view(Fleet fleet, ServerRequest request) {
        ServerHttpRequest received = request.exchange().getRequest();
        String sender = received.getHeaders().getFirst(ManagementCaller.PASSED_ON_BY);
        if (fleet.isOwn(sender)) {
            return ServerResponse.status(HttpStatus.LOOP_DETECTED).build();
        }
        Mono<?> view = sender == null
                ? fleet.view(PeerRequest.of(received, "", Fleet.READ_TIMEOUT))
                : Mono.fromCallable(fleet::summary).subscribeOn(Schedulers.boundedElastic());
        return view.flatMap(document -> ServerResponse.ok()
                        .contentType(MediaType.APPLICATION_JSON)
                        .header(HttpHeaders.CACHE_CONTROL, "no-store")
                        .bodyValue(JsonMapper.shared().writeValueAsString(document)))
                .onErrorResume(
                        Fleet.BusyException.class,
                        failure -> ServerResponse.status(HttpStatus.SERVICE_UNAVAILABLE)
                                .header(HttpHeaders.RETRY_AFTER, "1")
                                .build());
    }
}
