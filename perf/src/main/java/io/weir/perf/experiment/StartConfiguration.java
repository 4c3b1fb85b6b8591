package io.weir.perf.experiment;

import io.weir.perf.run.PeerProxy.Places;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A configuration of Weir with a number of backends, and of routes that are spread over them. */
record StartConfiguration(int routes, int backends) {

    static final StartConfiguration ONE_ROUTE = new StartConfiguration(1, 1);
    static final StartConfiguration MANY_ROUTES = new StartConfiguration(10_000, 1000);

    /** The text of the configuration file. All backends are the one that answers at once. */
    String text(Places places) {
        StringBuilder text = new StringBuilder(120 * routes + 60 * backends)
                .append("server: { address: 127.0.0.1, port: ")
                .append(places.port())
                .append(" }\nmanagement.server.port: ")
                .append(places.managementPort())
                .append("\nspring.cloud.gateway.server.webflux.routes:\n");
        for (int i = 0; i < routes; i++) {
            text.append("  - { id: r")
                    .append(i)
                    .append(", uri: \"backend://b")
                    .append(i % backends)
                    .append("\", predicates: [ \"Path=/r")
                    .append(i)
                    .append("/**\" ] }\n");
        }
        text.append("weir:\n  access-log: { enabled: false }\n  backends:\n");
        for (int i = 0; i < backends; i++) {
            text.append("    b")
                    .append(i)
                    .append(": { uri: \"http://127.0.0.1:")
                    .append(places.served())
                    .append("\" }\n");
        }
        return text.toString();
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
