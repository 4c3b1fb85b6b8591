package io.weir.perf.scenario;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * A backend without a queue, whose answers change while it runs. Each path has an answer of its own; it is
 * 200, at once, until it is set.
 */
final class ChangingBackend implements AutoCloseable {

    private static final byte[] BODY = "ok".getBytes(StandardCharsets.US_ASCII);

    /** What a path answers, and after what time. Status 0 is no answer at all. */
    record Answer(int status, Duration after) {

        static final Answer NEVER = new Answer(0, Duration.ZERO);

        static Answer ok(long millis) {
            return new Answer(200, Duration.ofMillis(millis));
        }
    }

    private final Map<String, Answer> answers = new ConcurrentHashMap<>();
    private final DisposableServer server;

    ChangingBackend() {
        this.server = HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle(this::handle)
                .bindNow();
    }

    int port() {
        return server.port();
    }

    /** Sets the answer of a path, for calls that come from now on. */
    void set(String path, Answer answer) {
        answers.put(path, answer);
    }

    private Publisher<Void> handle(HttpServerRequest request, HttpServerResponse response) {
        Answer answer = answers.getOrDefault(request.uri(), Answer.ok(0));
        if (answer.status() == 0) {
            return Mono.never();
        }
        Mono<Void> sent = response.status(answer.status())
                .header("Content-Length", Integer.toString(BODY.length))
                .sendByteArray(Mono.just(BODY))
                .then();
        return answer.after().isZero() ? sent : Mono.delay(answer.after()).then(sent);
    }

    @Override
    public void close() {
        server.disposeNow();
    }
}
