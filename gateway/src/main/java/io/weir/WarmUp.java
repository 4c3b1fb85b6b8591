package io.weir;

import io.weir.instance.ConnectionProperties;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import java.net.URI;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

/**
 * Goes a request's way to a backend and back a few hundred times before the gateway listens, with a backend of its own on this machine's loopback. Without
 * it the first callers would wait for some 400 classes to be loaded on an event loop, which takes longer than the connect
 * timeout that guards them: the gateway's own cold start would open breakers.
 */
final class WarmUp {

    /** Enough for the first of the JVM's compilers, and less than a second on a slow machine. */
    private static final int REQUESTS = 300;

    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final Logger log = LoggerFactory.getLogger(WarmUp.class);

    private final LoopResources loops;

    /**
     * A warm-up that has not begun.
     *
     * @param loops the event loops, those of the server
     */
    WarmUp(LoopResources loops) {
        this.loops = loops;
    }

    /** Goes, and waits for it. */
    void run() {
        try {
            DisposableServer backend = HttpServer.create()
                    .host("127.0.0.1")
                    .port(0)
                    .runOn(loops)
                    .protocol(HttpProtocol.HTTP11, HttpProtocol.H2C)
                    .handle((request, response) ->
                            response.header(HttpHeaders.CONTENT_LENGTH, "4").sendString(Mono.just("warm")))
                    .bindNow(PATIENCE);
            Pool pool = new Pool(
                    "warm-up",
                    URI.create("http://127.0.0.1:" + backend.port()),
                    UpstreamProtocol.HTTP1,
                    new ConnectionProperties(PATIENCE, PATIENCE, PATIENCE, 1, null),
                    1,
                    null,
                    loops);
            try {
                Flux.range(0, REQUESTS)
                        .concatMap(i -> pool.client()
                                .get()
                                .uri("/")
                                .responseConnection((head, from) ->
                                        from.inbound().receiveObject().then()))
                        .blockLast(PATIENCE);
            } finally {
                pool.close().block(PATIENCE);
                backend.disposeNow(PATIENCE);
            }
        } catch (RuntimeException e) {
            // It serves all the same, only slower at first.
            log.warn("Not warmed up, so that the first requests may fail: {}", e.toString());
        }
    }
}
