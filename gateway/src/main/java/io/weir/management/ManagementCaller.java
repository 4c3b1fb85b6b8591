package io.weir.management;

import java.util.Map;
import java.util.function.Function;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.util.context.ContextView;

/** The caller of the management port, and the answer to its request. */
public final class ManagementCaller {

    /**
     * The request field of a gateway that passes an operator's request on; its value names that gateway. It
     * gives no rights, and stops the request from being passed on again.
     */
    public static final String PASSED_ON_BY = "weir-passed-on-by";

    private ManagementCaller() {}

    /**
     * The name of the token's holder, if there is one, with the address and port, and whether the caller is
     * another gateway.
     */
    public static String of(ContextView context) {
        return context.hasKey(ManagementGuard.CALLER) ? context.get(ManagementGuard.CALLER) : "an unknown caller";
    }

    /**
     * Runs a caller's request on an elastic thread: monitors, files and the log are not for event loops. A
     * refusal is a response and no exception, since Spring Boot would not show the message of an exception.
     *
     * @param action gets the caller's name. An {@link IllegalArgumentException} is a refusal with status 400,
     *     a {@link RefusedRequestException} one with its own
     */
    public static Mono<WebEndpointResponse<Object>> run(Function<String, WebEndpointResponse<Object>> action) {
        return Mono.deferContextual(context -> {
            String by = of(context);
            return Mono.fromCallable(() -> answer(action, by)).subscribeOn(Schedulers.boundedElastic());
        });
    }

    private static WebEndpointResponse<Object> answer(Function<String, WebEndpointResponse<Object>> action, String by) {
        try {
            return action.apply(by);
        } catch (RefusedRequestException e) {
            return refusal(e.status(), e);
        } catch (IllegalArgumentException e) {
            return refusal(WebEndpointResponse.STATUS_BAD_REQUEST, e);
        }
    }

    private static WebEndpointResponse<Object> refusal(int status, RuntimeException why) {
        return new WebEndpointResponse<>(Map.of("status", status, "detail", String.valueOf(why.getMessage())), status);
    }
}
