package io.weir.perf;

import java.nio.charset.StandardCharsets;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * A backend on Reactor Netty that is light enough to share a core with the load. Each answer has status
 * 200.
 */
public final class LightBackend implements AutoCloseable {

    static final byte[] OK = "ok".getBytes(StandardCharsets.US_ASCII);

    private final DisposableServer server;

    /** Port 0: a free one. {@code service} completes when the answer is due. */
    public LightBackend(int port, byte[] body, Function<HttpServerRequest, Mono<Void>> service) {
        this(port, request -> body, service);
    }

    private LightBackend(
            int port, Function<HttpServerRequest, byte[]> body, Function<HttpServerRequest, Mono<Void>> service) {
        this.server = serve(
                port,
                (request, response) ->
                        service.apply(request).then(Mono.defer(() -> answer(response, body.apply(request)))));
    }

    /** A backend whose answer's body depends on the request. */
    public static LightBackend answering(
            Function<HttpServerRequest, byte[]> body, Function<HttpServerRequest, Mono<Void>> service) {
        return new LightBackend(0, body, service);
    }

    public static LightBackend answeringOk(Function<HttpServerRequest, Mono<Void>> service) {
        return new LightBackend(0, OK, service);
    }

    static DisposableServer serve(
            int port, BiFunction<HttpServerRequest, HttpServerResponse, ? extends Publisher<Void>> handler) {
        return HttpServer.create().host("127.0.0.1").port(port).handle(handler).bindNow();
    }

    static Mono<Void> answer(HttpServerResponse response, byte[] body) {
        return response.header("Content-Length", Integer.toString(body.length))
                .sendByteArray(Mono.just(body))
                .then();
    }

    public int port() {
        return server.port();
    }

    void await() {
        server.onDispose().block();
    }

    @Override
    public void close() {
        server.disposeNow();
    }
}
