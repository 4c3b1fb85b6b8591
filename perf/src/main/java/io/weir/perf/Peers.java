package io.weir.perf;

import java.net.URI;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServer;

/** Starts one of the peers, or the backend that they have: {@code bare|plain|backend PORT BACKEND}. */
public final class Peers {

    private Peers() {}

    /** Runs until it is told to end. */
    public static void main(String[] args) {
        if (args.length != 3) {
            fail("peers: " + String.join(" ", args));
            return;
        }
        int port = Integer.parseInt(args[1]);
        URI backend = URI.create(args[2]);
        switch (args[0]) {
            case "bare" -> BareProxy.start(port, backend).onDispose().block();
            case "plain" -> PlainGateway.start(port, backend);
            case "backend" -> backend(port);
            default -> fail("peer: " + args[0]);
        }
    }

    /** Answers all there is to answer at once. */
    private static void backend(int port) {
        HttpServer.create()
                .host("127.0.0.1")
                .port(port)
                .handle((request, response) ->
                        response.header("Content-Length", "2").sendString(Mono.just("ok")))
                .bindNow()
                .onDispose()
                .block();
    }

    private static void fail(String what) {
        System.err.println(what + " (expected: bare|plain|backend PORT BACKEND)");
        System.exit(2);
    }
}
