package io.weir.sim.fanout;

import io.weir.sim.problem.ProblemException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.core.env.Environment;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** {@code GET /fanout/{way}?parallel=true}: calls two other services for one answer. */
@RestController
@ConditionalOnWebApplication
class FanOutController {

    private static final List<String> WAYS = List.of("platform", "virtual", "webclient", "coroutines");

    private final Map<String, FanOut> ways;
    private final FanOutProperties properties;
    private final Environment environment;

    FanOutController(Map<String, FanOut> ways, FanOutProperties properties, Environment environment) {
        this.ways = ways;
        this.properties = properties;
        this.environment = environment;
    }

    /** The answers of the services, and the time that all calls took. */
    record FanOutAnswer(String way, boolean parallel, long ms, List<String> answers) {}

    @GetMapping("/fanout/{way}")
    CompletableFuture<FanOutAnswer> call(
            @PathVariable String way, @RequestParam(defaultValue = "true") String parallel) {
        boolean parallelCalls = parse(parallel);
        FanOut fanOut = ways.get(way);
        if (fanOut == null) {
            throw WAYS.contains(way)
                    ? ProblemException.notImplemented("way: " + way + " (expected: one of " + ways.keySet()
                            + "; this jar does not contain the libraries of " + way + ")")
                    : ProblemException.notFound("way: " + way + " (expected: one of " + WAYS + ")");
        }
        long startNanos = System.nanoTime();
        try {
            return (parallelCalls ? fanOut.inParallel(services()) : fanOut.sequentially(services()))
                    .handle((answers, failure) -> {
                        if (failure != null) {
                            throw failed(failure);
                        }
                        long nanos = System.nanoTime() - startNanos;
                        return new FanOutAnswer(way, parallelCalls, TimeUnit.NANOSECONDS.toMillis(nanos), answers);
                    });
        } catch (RejectedExecutionException e) {
            throw ProblemException.unavailable("Overloaded", "all threads that call the services are busy");
        }
    }

    private static ProblemException failed(Throwable failure) {
        Throwable cause = failure instanceof CompletionException wrapped && wrapped.getCause() != null
                ? wrapped.getCause()
                : failure;
        return ProblemException.unavailable("A service failed", cause.toString());
    }

    private static boolean parse(String parallel) {
        return switch (parallel) {
            case "true" -> true;
            case "false" -> false;
            default -> throw ProblemException.badRequest("parallel: " + parallel + " (expected: true or false)");
        };
    }

    private List<URI> services() {
        if (properties.services() != null) {
            return properties.services();
        }
        URI own = URI.create(
                "http://127.0.0.1:" + environment.getRequiredProperty("local.server.port") + "/delay?ms=200");
        return List.of(own, own);
    }
}
