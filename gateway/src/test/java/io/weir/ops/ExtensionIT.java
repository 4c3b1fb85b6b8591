package io.weir.ops;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.ExtensionBuild;
import io.weir.testing.FreePort;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packaged gateway with the example of an extension in its directory {@code extensions}. */
@Tag("full")
class ExtensionIT {

    private static final Path EXAMPLE = Path.of("..", "ops", "extension-example");
    private static final Path JAR = Path.of("target", "weir-gateway.jar").toAbsolutePath();

    private static final String ROUTES = """
            weir.backends.orders: { uri: "%s", deadline: 20s }
            spring.cloud.gateway.server.webflux.routes:
              - id: tenants
                uri: backend://orders
                predicates: [ "Path=/orders/**", "Tenant=acme,globex" ]
                filters: [ TenantHeader=%s ]
            """;

    @TempDir
    private static Path directory;

    @BeforeAll
    static void buildsTheExample() throws IOException {
        ExtensionBuild.jar(
                EXAMPLE.resolve("src/main"),
                Files.createDirectory(directory.resolve("extensions")).resolve("tenant.jar"));
    }

    @Test
    void validatesNamesAndArgumentsOfTheExtension() throws Exception {
        String backend = "http://orders:8080";
        write("good.yml", ROUTES.formatted(backend, "X-Tenant"));
        write("bad.yml", ROUTES.formatted(backend, "not/a/name"));
        write("unknown.yml", ROUTES.formatted(backend, "X-Tenant").replace("TenantHeader", "TenantHeadr"));

        assertThat(validate(directory, "good.yml", "bad.yml", "unknown.yml")).isEqualTo("""
                        good.yml: ok (1 backend, 1 route)
                        bad.yml:6: spring.cloud.gateway.server.webflux.routes[0].filters[0]: \
                        TenantHeader=not/a/name (header must be the name of a header field; \
                        expected: TenantHeader=header)
                        unknown.yml:6: spring.cloud.gateway.server.webflux.routes[0].filters[0]: \
                        TenantHeadr=X-Tenant (unknown filter; did you mean TenantHeader?)
                        2 problems in 2 files
                        exit code 1
                        """);
    }

    @Test
    void namesTheJarThatCannotBeLoadedAndTheCause() throws Exception {
        write("good.yml", ROUTES.formatted("http://orders:8080", "X-Tenant"));
        Path faulty = directory.resolve("faulty");
        Path extensions = Files.createDirectories(faulty.resolve("extensions"));
        Files.writeString(extensions.resolve("broken.jar"), "a text");
        ExtensionBuild.jarWithout(
                "com.example.weir.TenantRoutePredicateFactory",
                EXAMPLE.resolve("src/main"),
                extensions.resolve("tenant.jar"));

        assertThat(validate(faulty, "../good.yml").replaceFirst("(not a jar): .*", "$1"))
                .isEqualTo("""
                        extensions/broken.jar: cannot be loaded: not a jar
                        extensions/tenant.jar: cannot be loaded: needs the class \
                        com.example.weir.TenantRoutePredicateFactory, which is in no jar
                        2 problems in 2 files
                        exit code 1
                        """);
    }

    @Test
    void servesRoutesOfTheExtensionAndRefusesToReloadAWrongArgument() throws Exception {
        int port = FreePort.next();
        int management = FreePort.next();
        try (TestBackend backend = TestBackend.healthy()) {
            String rest = """
                    server: { port: %d, address: 127.0.0.1 }
                    management.server: { port: %d, address: 127.0.0.1 }
                    weir.drain: { delay: 0s, timeout: 5s }
                    weir.reload.watch: false
                    """.formatted(port, management);
            write("gateway.yml", ROUTES.formatted(backend.uri(), "X-Tenant") + rest);
            Process gateway = start(directory, "gateway.yml");
            try {
                await().atMost(TestGateway.PATIENCE.multipliedBy(3))
                        .ignoreExceptions()
                        // Any answer: the management port opens last.
                        .until(() -> !gateway.isAlive()
                                || TestCaller.get(management, "/").status() > 0);
                assertThat(gateway.isAlive()).as(() -> output(directory)).isTrue();

                assertThat(ask(port, "acme.example.com").status()).isEqualTo(200);
                TestBackend.Request seen = backend.next();
                assertThat(seen.header("X-Tenant")).isEqualTo("acme");
                assertThat(ask(port, "initech.example.com").status()).isEqualTo(404);

                write("gateway.yml", ROUTES.formatted(backend.uri(), "not/a/name") + rest);
                HttpResponse<String> refused = reload(management);
                assertThat(refused.statusCode()).isEqualTo(400);
                assertThat(refused.body()).contains("TenantHeader=not/a/name");

                write("gateway.yml", ROUTES.formatted(backend.uri(), "X-Customer") + rest);
                assertThat(reload(management).statusCode()).isEqualTo(200);
                assertThat(ask(port, "globex.example.com").status()).isEqualTo(200);
                assertThat(backend.next().header("X-Customer")).isEqualTo("globex");
            } finally {
                gateway.destroy();
                assertThat(gateway.waitFor(PATIENCE)).isTrue();
            }
        }
    }

    private static TestCaller.Answer ask(int port, String host) throws IOException {
        try (TestCaller caller = TestCaller.to(port)) {
            caller.send("GET /orders/1 HTTP/1.1\r\nHost: " + host + "\r\nX-Tenant: chosen by the caller\r\n\r\n");
            return caller.answer();
        }
    }

    private static HttpResponse<String> reload(int port) throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                    HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/actuator/weirreload"))
                            .header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString("{}"))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
        }
    }

    private static void write(String name, String text) throws IOException {
        Files.writeString(directory.resolve(name), text);
    }

    private static Process start(Path in, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                // The process only starts, which an optimising compiler does not accelerate.
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                "--enable-native-access=ALL-UNNAMED",
                "-jar",
                JAR.toString()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(in.toFile())
                .redirectErrorStream(true)
                .redirectOutput(in.resolve("output").toFile());
        Map<String, String> environment = builder.environment();
        environment.remove("JAVA_TOOL_OPTIONS");
        environment.remove("LOADER_PATH");
        return builder.start();
    }

    private static String output(Path in) {
        try {
            return Files.readString(in.resolve("output"));
        } catch (IOException e) {
            return e.toString();
        }
    }

    /** The output and the exit code of a gateway that only validates. */
    private static String validate(Path in, String... files) throws IOException, InterruptedException {
        List<String> arguments = new ArrayList<>(List.of("--validate"));
        arguments.addAll(List.of(files));
        Process process = start(in, arguments.toArray(String[]::new));
        try {
            int code = process.waitFor();
            return output(in) + "exit code " + code + '\n';
        } finally {
            process.destroyForcibly();
        }
    }
}
