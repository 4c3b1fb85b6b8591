package io.weir.perf;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * The failing backend of the peers; light enough to share a core with the load.
 *
 * <p>Ten workers for calls of 50 ms make a capacity of 200 requests per second. Requests wait for a worker in
 * an unbounded queue, and complete even if their callers have left. {@code /health} is answered at once,
 * {@code /held/**} never. On the control port, {@code PUT /faults} makes it hang, {@code DELETE /faults}
 * heals it, and {@code GET /held} returns the number of held requests.
 */
final class SickBackend {

    private static final int WORKERS = 10;
    private static final Duration SERVICE_TIME = Duration.ofMillis(50);

    private final Scheduler workers = Schedulers.fromExecutorService(Executors.newFixedThreadPool(
            WORKERS, Thread.ofPlatform().daemon().name("worker-", 0).factory()));
    private final AtomicInteger held = new AtomicInteger();
    /** Completes when the backend heals; null while it does not hang. */
    private final AtomicReference<Sinks.@Nullable Empty<Void>> hang = new AtomicReference<>();

    private SickBackend() {}

    /** Runs until the process ends. */
    static void run(int port, int controlPort) {
        SickBackend backend = new SickBackend();
        DisposableServer service = HttpServer.create()
                .host("127.0.0.1")
                .port(port)
                .handle(backend::serve)
                .bindNow();
        HttpServer.create()
                .host("127.0.0.1")
                .port(controlPort)
                .handle(backend::control)
                .bindNow();
        service.onDispose().block();
    }

    private Mono<Void> serve(HttpServerRequest request, HttpServerResponse response) {
        if (request.uri().startsWith("/held/")) {
            held.incrementAndGet();
            return Mono.<Void>never().doFinally(end -> held.decrementAndGet());
        }
        Sinks.Empty<Void> hanging = hang.get();
        Mono<Void> wait = hanging == null ? Mono.empty() : hanging.asMono();
        return wait.then(request.uri().equals("/health") ? Mono.empty() : work())
                .then(text(response, "ok"));
    }

    /** A task of a worker; the cancellation of a request does not cancel it. */
    private Mono<Void> work() {
        Sinks.Empty<Void> done = Sinks.empty();
        workers.schedule(() -> {
            try {
                Thread.sleep(SERVICE_TIME);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            done.tryEmitEmpty();
        });
        return done.asMono();
    }

    private Mono<Void> control(HttpServerRequest request, HttpServerResponse response) {
        if (request.uri().equals("/held")) {
            return text(response, Integer.toString(held.get()));
        }
        Sinks.Empty<Void> previous = hang.getAndSet(request.method().name().equals("PUT") ? Sinks.empty() : null);
        if (previous != null) {
            previous.tryEmitEmpty();
        }
        return text(response, "ok");
    }

    private static Mono<Void> text(HttpServerResponse response, String text) {
        return response.header("Content-Length", Integer.toString(text.length()))
                .sendString(Mono.just(text))
                .then();
    }
}
