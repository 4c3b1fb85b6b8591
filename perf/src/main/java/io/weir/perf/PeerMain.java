package io.weir.perf;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import reactor.core.publisher.Mono;

/**
 * Starts a peer or one of its backends, and runs until the process ends: {@code bare PORT SERVED GONE SICK},
 * {@code plain PORT BACKEND}, {@code plain FILE}, {@code backend PORT}, {@code sick PORT CONTROL-PORT}.
 */
public final class PeerMain {

    static final byte[] OK = "ok".getBytes(StandardCharsets.UTF_8);

    private PeerMain() {}

    public static void main(String[] args) {
        switch (args.length == 0 ? "" : args[0] + ' ' + args.length) {
            case "bare 5" ->
                BareProxy.start(
                                Integer.parseInt(args[1]),
                                Map.of(
                                        "/served/", URI.create(args[2]),
                                        "/gone/", URI.create(args[3]),
                                        "/", URI.create(args[4])))
                        .onDispose()
                        .block();
            case "plain 3" -> PlainGateway.start(Integer.parseInt(args[1]), args[2]);
            case "plain 2" -> PlainGateway.start(Path.of(args[1]));
            case "backend 2" -> new LightBackend(Integer.parseInt(args[1]), OK, request -> Mono.empty()).await();
            case "sick 3" -> SickBackend.run(Integer.parseInt(args[1]), Integer.parseInt(args[2]));
            default -> {
                System.err.println("peers: " + String.join(" ", args)
                        + " (expected: bare PORT SERVED GONE SICK, plain PORT BACKEND, plain FILE, backend PORT, sick"
                        + " PORT CONTROL-PORT)");
                System.exit(2);
            }
        }
    }
}
