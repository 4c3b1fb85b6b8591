package io.weir.sim.fanout;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * A fan-out in which a thread waits for each answer. The executor decides whether that is a platform thread
 * or a virtual one.
 */
final class BlockingFanOut implements FanOut {

    private final HttpClient client;
    private final Duration timeout;
    private final Executor threads;

    BlockingFanOut(HttpClient client, Duration timeout, Executor threads) {
        this.client = client;
        this.timeout = timeout;
        this.threads = threads;
    }

    @Override
    public CompletableFuture<List<String>> sequentially(List<URI> services) {
        return CompletableFuture.supplyAsync(
                () -> services.stream().map(this::call).toList(), threads);
    }

    @Override
    public CompletableFuture<List<String>> inParallel(List<URI> services) {
        List<CompletableFuture<String>> calls = services.stream()
                .map(service -> CompletableFuture.supplyAsync(() -> call(service), threads))
                .toList();
        return CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new))
                .thenApply(_ -> calls.stream().map(CompletableFuture::join).toList());
    }

    private String call(URI service) {
        try {
            return client.send(HttpRequest.newBuilder(service).timeout(timeout).build(), BodyHandlers.ofString())
                    .body();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UncheckedIOException(new IOException("interrupted while asking " + service, e));
        }
    }
}
