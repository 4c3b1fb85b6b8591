package io.weir.perf.experiment;

import io.weir.perf.run.PeerProxy.Places;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A configuration of Weir with a number of backends, and of routes that are spread over them. */
record StartConfiguration(int routes, int backends) {

    static final StartConfiguration ONE_ROUTE = new StartConfiguration(1, 1);
    static final StartConfiguration MANY_ROUTES = new StartConfiguration(10_000, 1000);

    /** The text of the configuration file. All backends are the one that answers at once. */
    String text(Places places) {
        return """
                server: { address: 127.0.0.1, port: %d }
                management.server.port: %d
                spring.cloud.gateway.server.webflux.routes:
                %sweir:
                  access-log: { enabled: false }
                  backends:
                %s""".formatted(
                places.port(),
                places.managementPort(),
                lines(
                        routes,
                        i -> "  - { id: r%d, uri: \"backend://b%d\", predicates: [ \"Path=/r%d/**\" ] }\n"
                                .formatted(i, i % backends, i)),
                lines(backends, i -> "    b%d: { uri: \"http://127.0.0.1:%d\" }\n".formatted(i, places.served())));
    }

    private static String lines(int count, IntFunction<String> line) {
        return IntStream.range(0, count).mapToObj(line).collect(Collectors.joining());
    }

    /** Writes the configuration to a file of the directory. */
    Path write(Places places, Path directory) {
        try {
            return Files.writeString(
                    directory.resolve("%d-%d-routes.yml".formatted(places.port(), routes)), text(places));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
