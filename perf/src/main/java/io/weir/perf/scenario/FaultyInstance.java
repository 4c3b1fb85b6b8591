package io.weir.perf.scenario;

import io.netty.channel.ChannelOption;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.weir.perf.run.Host;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * An instance of a backend, on a port of its own: it answers {@code ok} after 20 ms, or has a fault. Health
 * checks, {@code GET /health}, meet the same fault.
 */
// Concurrency: one thread sets the faults, and opens and closes the port; the calls read the fault.
final class FaultyInstance implements AutoCloseable {

    /** What happens to calls that arrive from now on. */
    enum Fault {
        NONE,
        /** No answer, also after the heal. */
        HANGS,
        FAILS,
        /** Status 500 instead of three of ten answers, at random. */
        FAILS_SOMETIMES,
        /** The connection is reset instead of an answer. */
        RESETS,
        /** The port is closed, and so are all connections. */
        REFUSES,
        SLOW
    }

    static final Duration SERVICE_TIME = Duration.ofMillis(20);

    private static final byte[] OK = "ok".getBytes(StandardCharsets.US_ASCII);
    private static final double SOMETIMES = .3;
    private static final String CHECK = "/health";
    private static final Duration LONGEST_DRAIN = Duration.ofSeconds(3);
    private static final long POLL_NANOS = 1_000_000;

    private final int port;
    private final ChannelGroup connections = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicInteger underWay = new AtomicInteger();
    private volatile Fault fault = Fault.NONE;
    private DisposableServer server;

    FaultyInstance() {
        this(Host.freePort());
    }

    private FaultyInstance(int port) {
        this.port = port;
        this.server = listen();
    }

    /** Runs an instance on a port, in a process of its own; SIGTERM drains it. */
    public static void main(String[] args) {
        FaultyInstance instance = new FaultyInstance(Integer.parseInt(args[0]));
        Runtime.getRuntime().addShutdownHook(new Thread(instance::drain));
        instance.server.onDispose().block();
    }

    private DisposableServer listen() {
        return HttpServer.create()
                .host("127.0.0.1")
                .port(port)
                .doOnConnection(connection -> connections.add(connection.channel()))
                .handle(this::serve)
                .bindNow();
    }

    int port() {
        return port;
    }

    /** The callers' calls so far; no checks and no probes. */
    int calls() {
        return calls.get();
    }

    void set(Fault next) {
        boolean wasClosed = fault == Fault.REFUSES;
        fault = next;
        if (next == Fault.REFUSES) {
            close();
        } else if (wasClosed) {
            server = listen();
        }
    }

    private Publisher<Void> serve(HttpServerRequest request, HttpServerResponse response) {
        boolean isCheck = request.uri().equals(CHECK);
        if (!isCheck && !request.requestHeaders().contains("weir-probe")) {
            calls.incrementAndGet();
        }
        return switch (fault) {
            case HANGS -> Mono.never();
            case FAILS -> response.status(500).send();
            case FAILS_SOMETIMES ->
                !isCheck && ThreadLocalRandom.current().nextDouble() < SOMETIMES
                        ? response.status(500).send()
                        : answer(response, SERVICE_TIME);
            case RESETS -> reset(response);
            case SLOW -> answer(response, isCheck ? SERVICE_TIME : SERVICE_TIME.multipliedBy(10));
            case NONE, REFUSES -> answer(response, SERVICE_TIME);
        };
    }

    private Mono<Void> answer(HttpServerResponse response, Duration after) {
        underWay.incrementAndGet();
        return Mono.delay(after)
                .then(response.header("Content-Length", "2")
                        .sendByteArray(Mono.just(OK))
                        .then())
                .doFinally(end -> underWay.decrementAndGet());
    }

    private static Mono<Void> reset(HttpServerResponse response) {
        response.withConnection(connection -> {
            connection.channel().config().setOption(ChannelOption.SO_LINGER, 0);
            var unused = connection.channel().close();
        });
        return Mono.never();
    }

    /** Takes no more connections, answers the calls under way, and closes the connections. */
    private void drain() {
        server.disposeNow();
        long end = System.nanoTime() + LONGEST_DRAIN.toNanos();
        while (underWay.get() > 0 && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(POLL_NANOS);
        }
        connections.close().awaitUninterruptibly();
    }

    @Override
    public void close() {
        server.disposeNow();
        connections.close().awaitUninterruptibly();
    }
}
