package io.weir.warmup;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.weir.edge.TlsEngine;
import io.weir.instance.UpstreamProtocol;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;

/**
 * The callers of a warm-up over TLS, with one version of HTTP. They open new connections all the time, as
 * handshakes are a part of what they exercise. They believe any certificate: the other end is this process.
 */
final class SecureCallers implements AutoCloseable {

    private static final int CALLS_AT_ONCE = 4;
    private static final int CONNECTIONS = 2;
    private static final Duration CONNECTION_AGE = Duration.ofMillis(500);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofMillis(50);
    private static final int OK = 200;

    private final ConnectionProvider connections;
    private final HttpClient client;
    private final String target;
    private final LongAdder answered = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private volatile @Nullable Disposable calls;

    /**
     * Callers that send nothing yet.
     *
     * @param port of the loopback interface
     * @param target the path of all requests; answered with 200
     */
    SecureCallers(int port, String target, UpstreamProtocol protocol, TlsEngine engine, LoopResources loops)
            throws SSLException {
        this.target = target;
        this.connections = ConnectionProvider.builder("weir-warm-up")
                .maxConnections(CONNECTIONS)
                .maxLifeTime(CONNECTION_AGE)
                .build();
        SslContext tls = protocol.offeredBy(SslContextBuilder.forClient())
                .sslProvider(engine.inUse().forClient())
                .trustManager(InsecureTrustManagerFactory.INSTANCE)
                .build();
        this.client = HttpClient.create(connections)
                .runOn(loops)
                .host(PrivateConfiguration.LOOPBACK.getHostAddress())
                .port(port)
                .secure(spec -> spec.sslContext(tls))
                .protocol(protocol == UpstreamProtocol.H2 ? HttpProtocol.H2 : HttpProtocol.HTTP11)
                .responseTimeout(TIMEOUT);
    }

    void start() {
        calls = Flux.range(0, CALLS_AT_ONCE)
                .flatMap(caller -> call().repeat(), CALLS_AT_ONCE)
                .subscribe();
    }

    private Mono<Void> call() {
        return client.get()
                .uri(target)
                .responseSingle(
                        (head, body) -> body.then(Mono.just(head.status().code())))
                .timeout(TIMEOUT)
                .doOnNext(status -> (status == OK ? answered : failed).increment())
                .then()
                .onErrorResume(e -> {
                    failed.increment();
                    return Mono.delay(PAUSE_AFTER_FAILURE).then();
                });
    }

    long answered() {
        return answered.sum();
    }

    long failed() {
        return failed.sum();
    }

    @Override
    public void close() {
        Disposable running = calls;
        if (running != null) {
            running.dispose();
        }
        connections.dispose();
    }
}
