package io.weir.perf;

import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServer;

/**
 * Starts one of the peers, or a backend that they have: {@code bare PORT BACKEND}, {@code bare PORT SERVED GONE SICK}, {@code plain PORT BACKEND}, {@code plain FILE},
 * {@code backend PORT BACKEND}, {@code sick PORT CONTROL-PORT}.
 */
public final class Peers {

    private Peers() {}

    /** Runs until it is told to end. */
    public static void main(String[] args) {
        switch (args.length == 0 ? "" : args[0] + ' ' + args.length) {
            case "bare 3" ->
                BareProxy.start(Integer.parseInt(args[1]), URI.create(args[2]))
                        .onDispose()
                        .block();
            case "bare 5" ->
                BareProxy.start(
                                Integer.parseInt(args[1]),
                                Map.of(
                                        "/served/", URI.create(args[2]),
                                        "/gone/", URI.create(args[3]),
                                        "/", URI.create(args[4])))
                        .onDispose()
                        .block();
            case "plain 3" -> PlainGateway.start(Integer.parseInt(args[1]), URI.create(args[2]));
            case "plain 2" -> PlainGateway.start(Path.of(args[1]));
            case "backend 3" -> backend(Integer.parseInt(args[1]));
            case "sick 3" -> SickBackend.run(Integer.parseInt(args[1]), Integer.parseInt(args[2]));
            default -> fail("peers: " + String.join(" ", args));
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
        System.err.println(
                what
                        + " (expected: bare PORT BACKEND, bare PORT SERVED GONE SICK, plain PORT BACKEND, plain FILE, backend PORT BACKEND, sick PORT CONTROL-PORT)");
        System.exit(2);
    }
}
