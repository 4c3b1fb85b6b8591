package io.weir.perf;

import io.netty.handler.codec.http.HttpMethod;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/**
 * The failing backend of the peers.
 *
 * <p>Ten workers for calls of 50 ms make a capacity of 200 requests per second
 * ({@link WorkerService}). {@code /health} is answered at once, {@code /held/**} never. On the control
 * port, {@code PUT /faults} makes it hang, {@code DELETE /faults} heals it, and {@code GET /held} returns the
 * number of held requests. Requests that come while it hangs stay unanswered, also after it has healed.
 */
final class SickBackend {

    private final WorkerService workers = new WorkerService(10, Duration.ofMillis(50));
    private final AtomicInteger held = new AtomicInteger();
    private volatile boolean hangs;

    private SickBackend() {}

    static void run(int port, int controlPort) {
        SickBackend sick = new SickBackend();
        LightBackend backend = new LightBackend(port, LightBackend.OK, sick::serve);
        LightBackend.serve(controlPort, (request, response) -> {
            String answer = "ok";
            if (request.uri().equals("/held")) {
                answer = Integer.toString(sick.held.get());
            } else if (request.method().equals(HttpMethod.PUT)) {
                sick.hangs = true;
            } else {
                sick.hangs = false;
            }
            return LightBackend.answer(response, answer.getBytes(StandardCharsets.UTF_8));
        });
        backend.await();
    }

    private Mono<Void> serve(HttpServerRequest request) {
        if (hangs) {
            return Mono.never();
        }
        if (request.uri().startsWith("/held/")) {
            held.incrementAndGet();
            return Mono.<Void>never().doFinally(end -> held.decrementAndGet());
        }
        return request.uri().equals("/health") ? Mono.empty() : workers.apply(request);
    }
}
