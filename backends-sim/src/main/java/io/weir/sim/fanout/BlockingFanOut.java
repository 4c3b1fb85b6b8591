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

/** A thread waits for each answer: a platform thread or a virtual one, as the executor has it. */
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
    public CompletableFuture<List<String>> oneAfterTheOther(List<URI> services) {
        return CompletableFuture.supplyAsync(
                () -> services.stream().map(this::ask).toList(), threads);
    }

    @Override
    public CompletableFuture<List<String>> together(List<URI> services) {
        List<CompletableFuture<String>> asked = services.stream()
                .map(service -> CompletableFuture.supplyAsync(() -> ask(service), threads))
                .toList();
        return CompletableFuture.allOf(asked.toArray(CompletableFuture[]::new))
                .thenApply(_ -> asked.stream().map(CompletableFuture::join).toList());
    }

    private String ask(URI service) {
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
