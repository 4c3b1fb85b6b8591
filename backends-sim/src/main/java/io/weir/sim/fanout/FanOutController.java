package io.weir.sim.fanout;

import io.weir.sim.problem.Refusal;
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

/** {@code GET /fanout/{way}?parallel=true}: asks two other services for one answer. */
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

    /** What they said, and how long that took together. */
    record Asked(String way, boolean parallel, long ms, List<String> answers) {}

    @GetMapping("/fanout/{way}")
    CompletableFuture<Asked> ask(@PathVariable String way, @RequestParam(defaultValue = "true") String parallel) {
        boolean together = parse(parallel);
        FanOut fanOut = ways.get(way);
        if (fanOut == null) {
            throw WAYS.contains(way)
                    ? Refusal.notCarried("way: " + way + " (expected: one of " + ways.keySet()
                            + "; this jar was packaged without what " + way + " needs)")
                    : Refusal.notFound("way: " + way + " (expected: one of " + WAYS + ")");
        }
        long began = System.nanoTime();
        try {
            return (together ? fanOut.together(services()) : fanOut.oneAfterTheOther(services()))
                    .handle((answers, failure) -> {
                        if (failure != null) {
                            throw failed(failure);
                        }
                        long nanos = System.nanoTime() - began;
                        return new Asked(way, together, TimeUnit.NANOSECONDS.toMillis(nanos), answers);
                    });
        } catch (RejectedExecutionException e) {
            throw Refusal.unavailable("Overloaded", "every thread that could wait for the services is busy");
        }
    }

    private static Refusal failed(Throwable failure) {
        Throwable cause = failure instanceof CompletionException wrapped && wrapped.getCause() != null
                ? wrapped.getCause()
                : failure;
        return Refusal.unavailable("A service failed", cause.toString());
    }

    private static boolean parse(String parallel) {
        return switch (parallel) {
            case "true" -> true;
            case "false" -> false;
            default -> throw Refusal.badRequest("parallel: " + parallel + " (expected: true or false)");
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
