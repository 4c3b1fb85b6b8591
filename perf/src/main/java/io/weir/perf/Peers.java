package io.weir.perf;

import java.net.URI;

/** Starts one of the peers: {@code bare PORT BACKEND} or {@code plain PORT BACKEND}. */
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
            default -> fail("peer: " + args[0]);
        }
    }

    private static void fail(String what) {
        System.err.println(what + " (expected: bare|plain PORT BACKEND)");
        System.exit(2);
    }
}
