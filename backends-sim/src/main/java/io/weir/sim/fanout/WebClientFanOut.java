package io.weir.sim.fanout;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A fan-out in which no thread waits: calls of {@code WebClient}, combined by {@code Mono.zip} or made one
 * after the other.
 */
final class WebClientFanOut implements FanOut {

    private final WebClient client;
    private final Duration timeout;

    WebClientFanOut(WebClient client, Duration timeout) {
        this.client = client;
        this.timeout = timeout;
    }

    @Override
    public CompletableFuture<List<String>> sequentially(List<URI> services) {
        return Flux.fromIterable(services)
                .concatMap(this::call)
                .collectList()
                .toFuture()
                .thenApply(Objects::requireNonNull);
    }

    @Override
    public CompletableFuture<List<String>> inParallel(List<URI> services) {
        return Mono.zip(
                        services.stream().map(this::call).toList(),
                        answers -> List.of(answers).stream()
                                .map(String.class::cast)
                                .toList())
                .toFuture()
                .thenApply(Objects::requireNonNull);
    }

    private Mono<String> call(URI service) {
        return client.get().uri(service).retrieve().bodyToMono(String.class).timeout(timeout);
    }
}
