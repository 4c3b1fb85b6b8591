package io.weir.wiring;

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
 * Sends a few hundred requests to a backend of its own on the loopback interface, before the gateway listens.
 *
 * <p>Without it, the first requests would wait while an event loop loads some 400 classes. That takes longer
 * than the connect timeout that guards those requests: the gateway's own cold start would open breakers.
 * The {@linkplain io.weir.warmup.WarmUp warm-up} follows once the gateway listens, and can be switched off;
 * this can not.
 */
final class ClassPreload {

    /**
     * Enough requests to trigger the JVM's first compiler; they take less than a second on a slow machine.
     */
    private static final int REQUESTS = 300;

    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private static final Logger log = LoggerFactory.getLogger(ClassPreload.class);

    private final LoopResources loops;

    /**
     * A preload that has not begun.
     *
     * @param loops the event loops, shared with the server
     */
    ClassPreload(LoopResources loops) {
        this.loops = loops;
    }

    /**
     * Sends the requests, one after the other, and blocks until the last answer. A failure is only logged.
     */
    void run() {
        try {
            DisposableServer backend = HttpServer.create()
                    .host("127.0.0.1")
                    .port(0)
                    .runOn(loops)
                    .protocol(HttpProtocol.HTTP11, HttpProtocol.H2C)
                    .handle((request, response) ->
                            response.header(HttpHeaders.CONTENT_LENGTH, "4").sendString(Mono.just("warm")))
                    .bindNow(TIMEOUT);
            Pool pool = new Pool(
                    "preload",
                    URI.create("http://127.0.0.1:" + backend.port()),
                    UpstreamProtocol.HTTP1,
                    new ConnectionProperties(TIMEOUT, TIMEOUT, TIMEOUT, 1, null),
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
                        .blockLast(TIMEOUT);
            } finally {
                pool.close().block(TIMEOUT);
                backend.disposeNow(TIMEOUT);
            }
        } catch (RuntimeException e) {
            // The gateway works without it.
            log.warn(
                    "Loading the classes of a call failed, so the first requests may be slow or fail: {}",
                    e.toString());
        }
    }
}
