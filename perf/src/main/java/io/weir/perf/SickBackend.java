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
 * The backend in trouble that the peers have: light enough to share a core with the load.
 *
 * <p>Ten workers for calls of 50 ms, so it can do 200 a second; whatever comes waits for one, without a bound, and is done even if its caller has left. {@code /health} is
 * answered at once, {@code /held/**} never. Where it is controlled, {@code PUT /faults} makes it hang, as {@code {"kind": "hang"}} does a simulator, {@code DELETE /faults}
 * heals it, and {@code GET /held} says how many are held.
 */
final class SickBackend {

    private static final int WORKERS = 10;
    private static final Duration SERVICE = Duration.ofMillis(50);

    private final Scheduler workers = Schedulers.fromExecutorService(Executors.newFixedThreadPool(
            WORKERS, Thread.ofPlatform().daemon().name("worker-", 0).factory()));
    private final AtomicInteger held = new AtomicInteger();
    /** While it hangs: completes when it heals. */
    private final AtomicReference<Sinks.@Nullable Empty<Void>> hanging = new AtomicReference<>();

    private SickBackend() {}

    /** Runs until the process is told to end. */
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
        Sinks.Empty<Void> hangs = hanging.get();
        Mono<Void> wait = hangs == null ? Mono.empty() : hangs.asMono();
        return wait.then(request.uri().equals("/health") ? Mono.empty() : work())
                .then(text(response, "ok"));
    }

    /** By a worker, as a task that nobody takes back: a caller who leaves is served all the same. */
    private Mono<Void> work() {
        Sinks.Empty<Void> done = Sinks.empty();
        workers.schedule(() -> {
            try {
                Thread.sleep(SERVICE);
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
        Sinks.Empty<Void> before = hanging.getAndSet(request.method().name().equals("PUT") ? Sinks.empty() : null);
        if (before != null) {
            before.tryEmitEmpty();
        }
        return text(response, "ok");
    }

    private static Mono<Void> text(HttpServerResponse response, String text) {
        return response.header("Content-Length", Integer.toString(text.length()))
                .sendString(Mono.just(text))
                .then();
    }
}
