package io.weir.perf;

import java.net.URI;
import java.util.Arrays;
import java.util.Map;
import reactor.core.publisher.Mono;

/**
 * Starts a peer or one of its backends, and runs until the process ends: {@code bare PORT SERVED GONE SICK},
 * {@code plain --PROPERTY=VALUE...}, {@code backend PORT}, {@code sick PORT CONTROL-PORT}.
 */
public final class PeerMain {

    private PeerMain() {}

    public static void main(String[] args) {
        switch (args[0]) {
            case "bare" -> {
                Map<String, URI> backends = Map.of(
                        "/served/", URI.create(args[2]), "/gone/", URI.create(args[3]), "/", URI.create(args[4]));
                BareProxy.start(Integer.parseInt(args[1]), backends).onDispose().block();
            }
            case "plain" -> PlainGateway.start(Arrays.copyOfRange(args, 1, args.length));
            case "backend" ->
                new LightBackend(Integer.parseInt(args[1]), LightBackend.OK, request -> Mono.empty()).await();
            case "sick" -> SickBackend.run(Integer.parseInt(args[1]), Integer.parseInt(args[2]));
            default -> throw new IllegalArgumentException(args[0] + " (expected: bare, plain, backend, sick)");
        }
    }
}
