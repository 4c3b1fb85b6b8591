package io.weir.sim.stack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.weir.sim.Simulator;
import io.weir.sim.SimulatorApplication;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Start and stop of the simulator. */
class StartIT {

    /** The database that the other tests keep running. */
    private static String database() {
        Simulator.of(Stack.MVC_JDBC);
        return "--sim.database.state-dir=" + Path.of("target", "postgres").toAbsolutePath();
    }

    /** On SIGTERM, Spring Boot closes the context: {@link JarsIT}. */
    @ParameterizedTest
    @MethodSource("io.weir.sim.Simulator#stacksOfEachKind")
    void drainsAndReleasesHeldRequestsWhenItCloses(Stack stack) throws Exception {
        Simulator sim = Simulator.start(stack);
        CompletableFuture<HttpResponse<String>> held;
        CompletableFuture<HttpResponse<String>> working;
        try (sim) {
            sim.fault("{\"kind\":\"hang\",\"path\":\"/records\"}");
            held = sim.getAsync("/records");
            // Long enough to be observed on a busy machine.
            working = sim.getAsync("/delay?ms=6000");
            await().untilAsserted(() ->
                    assertThat(sim.meter("sim_requests_in_flight")).isEqualTo(2));
        }

        assertThat(working.join().statusCode()).isEqualTo(200);
        assertThat(held.join().statusCode()).isEqualTo(200);
    }

    @Test
    void configuredFaultsAreActiveFromTheStartAndThePoolSizeDefaultsToAHundred() throws Exception {
        try (Simulator sim = Simulator.start(
                Stack.WEBFLUX_R2DBC,
                "--sim.faults.seed=4",
                "--sim.faults.script[0].kind=errors",
                "--sim.faults.script[0].shares[503]=1",
                "--sim.faults.script[0].path=/records",
                "--sim.faults.script[1].kind=slow-start",
                "--sim.faults.script[1].delay=5ms",
                "--sim.faults.script[1].after=1h")) {
            assertThat(sim.get("/records").statusCode()).isEqualTo(503);
            assertThat(sim.get("/delay?ms=0").statusCode()).isEqualTo(200);
            assertThat(sim.manage("GET", "/faults", "").body()).contains("\"state\":\"waiting\"", "slow-start");
            assertThat(sim.meter("r2dbc_pool_max_allocated_connections")).isEqualTo(100);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--sim.stack=tomcat|sim.stack: tomcat (expected one of: mvc-jdbc,",
                "--sim.faults.script[0].kind=bang|sim.faults.script[0].kind: bang (expected: one of latency,",
                "--sim.database.url=jdbc:postgresql://x/y|sim.database.url: jdbc:postgresql://x/y (expected: postgresql://",
                "--sim.pool.workers=0|sim.pool.workers: 0 (expected: 1 to 1000)"
            })
    @ExtendWith(OutputCaptureExtension.class)
    void invalidConfigurationEndsTheStartAndIsNamed(String mistake, CapturedOutput output) {
        int bar = mistake.indexOf('|');

        assertThatThrownBy(() -> SimulatorApplication.main(new String[] {
                    "--server.port=0",
                    "--management.server.port=0",
                    "--logging.level.root=warn",
                    database(),
                    mistake.substring(0, bar)
                }))
                .isInstanceOf(RuntimeException.class);

        assertThat(output).contains("APPLICATION FAILED TO START", mistake.substring(bar + 1));
    }

    @Test
    void nettyUsesTheConfiguredNumberOfWorkers() throws Exception {
        Set<Thread> others = Thread.getAllStackTraces().keySet();
        try (Simulator sim = Simulator.start(Stack.WEBFLUX_JDBC, "--sim.netty.workers=3", "--sim.offload.threads=5")) {
            List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                answers.add(sim.getAsync("/delay?ms=300"));
            }
            answers.forEach(CompletableFuture::join);

            assertThat(sim.meter("sim_netty_workers")).isEqualTo(3);
            assertThat(Thread.getAllStackTraces().keySet())
                    .filteredOn(thread -> !others.contains(thread))
                    .filteredOn(thread -> thread.getName().matches("sim-http-[a-z]+-\\d+"))
                    .hasSize(3);
            assertThat(sim.meter("executor_pool_max_threads", "name=\"offload\""))
                    .isEqualTo(5);
        }
    }

    @Test
    void tomcatAndPoolUseTheConfiguredSizes() throws Exception {
        try (Simulator sim = Simulator.start(
                Stack.MVC_JDBC,
                "--server.tomcat.threads.max=17",
                "--server.tomcat.max-connections=19",
                "--server.tomcat.accept-count=3",
                "--sim.database.pool-size=23")) {
            assertThat(sim.prometheus())
                    .containsPattern("tomcat_threads_config_max_threads\\{name=\"http-nio-auto-\\d+\"} 17\\.0")
                    .containsPattern("tomcat_connections_config_max_connections\\{name=\"http-nio-auto-\\d+\"} 19\\.0");
            assertThat(sim.tomcatConnector().getProperty("acceptCount")).isEqualTo(3);
            assertThat(sim.meter("hikaricp_connections_max", "pool=\"records\""))
                    .isEqualTo(23);
        }
        try (Simulator sim = Simulator.start(Stack.MVC_R2DBC, "--sim.database.pool-size=23")) {
            assertThat(sim.meter("r2dbc_pool_max_allocated_connections")).isEqualTo(23);
        }
    }

    @ParameterizedTest
    @MethodSource("io.weir.sim.Simulator#stacksOfEachKind")
    void shippedConfigurationStartsTheStacksOfEachKind(Stack stack) throws Exception {
        startsWithTheShippedConfiguration(stack);
    }

    @ParameterizedTest
    @Tag("full")
    @MethodSource("io.weir.sim.Simulator#otherStacks")
    void shippedConfigurationStartsTheOtherStacks(Stack stack) throws Exception {
        startsWithTheShippedConfiguration(stack);
    }

    private static void startsWithTheShippedConfiguration(Stack stack) throws Exception {
        try (Simulator sim =
                Simulator.start(stack, "--spring.config.additional-location=file:../config/simulator.yml")) {
            assertThat(sim.get("/records").statusCode()).isEqualTo(200);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX) // Reads Linux's table of sockets.
    void managementPortListensOnLoopbackOnly() throws Exception {
        // The service listens on every address, the management port on loopback.
        Simulator sim = Simulator.of(Stack.MVC_JDBC);

        List<String> loopback = List.of("0100007F", "0000000000000000FFFF00000100007F");
        assertThat(listening(sim.managementPort())).isNotEmpty().isSubsetOf(loopback);
        assertThat(listening(sim.port())).isNotEmpty().doesNotContainAnyElementsOf(loopback);
    }

    /** The local addresses on which the port listens, in the kernel's notation. */
    private static List<String> listening(int port) throws Exception {
        List<String> addresses = new ArrayList<>();
        String suffix = ":" + "%04X".formatted(port);
        for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
            for (String line : Files.readAllLines(Path.of(table))) {
                List<String> fields = List.of(line.strip().split("\\s+", -1));
                if (fields.get(1).endsWith(suffix) && fields.get(3).equals("0A")) {
                    addresses.add(fields.get(1).substring(0, fields.get(1).length() - suffix.length()));
                }
            }
        }
        return addresses;
    }
}
