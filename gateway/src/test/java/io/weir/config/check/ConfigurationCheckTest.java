package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.BackendProperties;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

class ConfigurationCheckTest {

    private static final String VALID = """
            weir:
              backends:
                orders:
                  uri: http://orders:8080
                  deadline: 800ms
                  bulkhead: { max-concurrent-calls: 64, queue-capacity: 32, max-wait-duration: 100ms }
                  circuit-breaker: { failure-rate-threshold: 50, slow-call-duration-threshold: 400ms }
                  connection: { connect-timeout: 250ms, max-idle: 4s }
                users: { uri: "https://users" }
              routes:
                orders:
                  deadline: 500ms
                  retry: { max-attempts: 3, attempt-timeout: 200ms, statuses: [502, 503] }
                  fallback: { backend: users, reasons: [circuit-open, bulkhead-full] }
                "[users.v1]":
                  mode: stream
                  fallback: { status: 503, body: "{}", headers: { X-Fallback: 1 } }
            spring.cloud.gateway.server.webflux:
              default-filters:
                - AddResponseHeader=X-Edge, weir
              routes:
                - id: orders
                  uri: backend://orders
                  predicates: ["Path=/orders/**", "Method=GET,POST", "Header=X-Version, v\\\\d+"]
                  filters: [StripPrefix=1, PreserveHostHeader, "RewritePath=/a/(?<rest>.*), /b/$\\\\{rest}"]
                - id: users.v1
                  uri: backend://users
                  order: 2
                  metadata: { team: people }
                  predicates:
                    - name: Path
                      args: { patterns: "/users/**,/people/**" }
                  filters:
                    - name: SetPath
                      args: { template: "/v1" }
                - { id: old, uri: "no://op", predicates: ["Path=/old"], filters: ["RedirectTo=302, https://new"] }
            """;

    @TempDir
    private Path directory;

    @Test
    void acceptsAValidFile() throws IOException {
        ValidationReport report = MalformedConfiguration.check(file("gateway.yml", VALID));

        assertThat(report.lines()).isEmpty();
        assertThat(report.isValid()).isTrue();
        assertThat(report.backends()).isEqualTo(2);
        assertThat(report.routes()).isEqualTo(3);
    }

    @Test
    void acceptsAnEmptyFile() throws IOException {
        assertThat(MalformedConfiguration.check(file("gateway.yml", "")).lines())
                .isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "max-concurrent-calls",
                "maxConcurrentCalls",
                "max_concurrent_calls",
                "MAX_CONCURRENT_CALLS",
                "maxconcurrentcalls"
            })
    void checksEverySpellingThatSpringBootAccepts(String name) throws IOException {
        Path valid =
                file("gateway.yml", "weir.backends.orders: { uri: \"http://orders\", bulkhead: { " + name + ": 3 } }");
        assertThat(MalformedConfiguration.check(valid).lines()).isEmpty();

        Path faulty =
                file("gateway.yml", "weir.backends.orders: { uri: \"http://orders\", bulkhead: { " + name + ": 0 } }");
        assertThat(MalformedConfiguration.check(faulty).problems())
                .extracting(ConfigurationProblem::path)
                .containsExactly("weir.backends.orders.bulkhead." + name);
    }

    @Test
    void reportsAllProblemsOfAllFilesByFileAndLine() throws IOException {
        Path first = file("a.yml", """
                weir:
                  drain: { delay: 1h }
                  backends:
                    orders: { uri: "http://orders:8080", deadline: 0ms }
                """);
        Path second = file("b.yml", """
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders, uri: "backend://oders", predicates: ["Path=/{"], filters: [StripPrefx=1] }
                weir.edge.max-header-cuont: 3
                """);

        ValidationReport report = MalformedConfiguration.check(second, first);

        assertThat(report.problems().stream().map(problem -> problem.location().toString() + ' ' + problem.path()))
                .containsExactly(
                        first + ":2 weir.drain.delay",
                        first + ":4 weir.backends.orders.deadline",
                        second + ":2 spring.cloud.gateway.server.webflux.routes[0].filters[0]",
                        second + ":2 spring.cloud.gateway.server.webflux.routes[0].predicates[0]",
                        second + ":2 spring.cloud.gateway.server.webflux.routes[0].uri",
                        second + ":3 weir.edge.max-header-cuont");
        assertThat(report.summary()).isEqualTo("6 problems in 2 files");
        assertThat(report.lines()).contains(first + ":4: weir.backends.orders.deadline: 0ms (expected: 1ms to 10m)\n");
    }

    @Test
    void usesTheValueOfTheLastFile() throws IOException {
        Path first = file("a.yml", "weir.drain.delay: 1h");
        Path second = file("b.yml", "weir.drain.delay: 1s");

        assertThat(MalformedConfiguration.check(first, second).lines()).isEmpty();
        assertThat(MalformedConfiguration.check(second, first).problems()).hasSize(1);
    }

    @Test
    void checksValuesOfTheCommandLine() {
        assertThat(withManagement("--weir.drain.delay=1h", "--weir.drian.delay=1s")
                        .problems())
                .extracting(ConfigurationProblem::toString)
                .containsExactly(
                        "command line: weir.drain.delay: 1h (expected: 0 to 5m)",
                        "command line: weir.drian (unknown property; did you mean drain?)");
        assertThat(withManagement("--weir.drain.delay=1h").summary()).isEqualTo("1 problem");
    }

    @Test
    void checksValuesOfEnvironmentVariablesInBothSpellings() {
        assertThat(withVariables(Map.of(
                                "WEIR_BACKENDS_ORDERS_URI", "http://orders:8080",
                                "WEIR_BACKENDS_ORDERS_CIRCUITBREAKER_SLIDINGWINDOWSIZE", "0",
                                "WEIR_OVERLOAD_MAX_MEMORY", "5"))
                        .problems())
                .extracting(ConfigurationProblem::toString)
                .containsExactly(
                        "environment variable WEIR_BACKENDS_ORDERS_CIRCUITBREAKER_SLIDINGWINDOWSIZE: "
                                + "weir.backends.orders.circuitbreaker.slidingwindowsize: 0 (expected: 1 to 100000)",
                        "environment variable WEIR_OVERLOAD_MAX_MEMORY: weir.overload.max-memory: 5 (expected: 10 to 100 percent)");
    }

    @Test
    void ignoresUnknownEnvironmentVariables() {
        assertThat(withVariables(Map.of("WEIR_PORT", "tcp://10.0.0.1:80", "WEIR_SERVICE_HOST", "10.0.0.1"))
                        .lines())
                .isEmpty();
    }

    @Test
    void checksPropertiesFiles() throws IOException {
        Path file = file("gateway.properties", "weir.drain.timeout=1s\nweir.drain.delay=1h\n");

        assertThat(MalformedConfiguration.check(file).lines())
                .isEqualTo(file + ":2: weir.drain.delay: 1h (expected: 0 to 5m)\n");
    }

    @Test
    void checksDocumentsOfActiveProfiles() throws IOException {
        Path file = file("gateway.yml", """
                weir.drain.delay: 1s
                ---
                spring.config.activate.on-profile: lax
                weir:
                  drain:
                    delay: 1h
                """);

        assertThat(MalformedConfiguration.check(file).lines()).isEmpty();
        assertThat(withManagement("--spring.profiles.active=lax", "--spring.config.additional-location=file:" + file)
                        .lines())
                .isEqualTo(file + ":6: weir.drain.delay: 1h (expected: 0 to 5m)\n");
    }

    @Test
    void checksValuesOfAnAliasAtItsAnchor() throws IOException {
        Path file = file("gateway.yml", """
                usual: &usual
                  deadline: 0ms
                  max-streams: 3
                weir:
                  backends:
                    orders:
                      <<: *usual
                      uri: http://orders:8080
                      max-streams: 0
                """);

        assertThat(MalformedConfiguration.check(file).lines())
                .isEqualTo(file + ":2: weir.backends.orders.deadline: 0ms (expected: 1ms to 10m)\n" + file
                        + ":9: weir.backends.orders.max-streams: 0 (expected: 1 to 1000000)\n");
    }

    @Test
    void reportsAMissingImport() throws IOException {
        Path file = file("gateway.yml", "weir.drain.delay: 1s\nspring.config.import: more.yml\n");

        assertThat(MalformedConfiguration.check(file).lines())
                .startsWith(file + ":2: spring.config: ")
                .endsWith("(not found)\n");
    }

    @Test
    void reportsProblemsOfAnImportedFile() throws IOException {
        Path more = file("more.yml", "weir.drain.delay: 1h\nweir: [\n");
        Path file = file("gateway.yml", "spring.config.import: more.yml\n");

        assertThat(MalformedConfiguration.check(file).problems())
                .singleElement()
                .satisfies(
                        problem -> assertThat(problem.location()).isEqualTo(SourceLocation.inFile(more.toString(), 3)));
    }

    @Test
    void allowsUnprotectedRoutesIfConfigured() throws IOException {
        String route = """
                spring.cloud.gateway.server.webflux.routes:
                  - { id: bare, uri: "http://orders:8080", predicates: ["Path=/**"], filters: [Retry=3] }
                """;
        assertThat(MalformedConfiguration.check(file("gateway.yml", route)).problems())
                .hasSize(1);
        assertThat(MalformedConfiguration.check(file("gateway.yml", route + "weir.allow-unprotected-routes: true"))
                        .lines())
                .isEmpty();
    }

    @Test
    void requiresATokenForAManagementPortBeyondLoopback() throws IOException {
        Path open = file("gateway.yml", "management.server: { port: 9090, address: 0.0.0.0 }");
        assertThat(ConfigurationCheck.resultOf("--spring.config.additional-location=file:" + open)
                        .report()
                        .lines())
                .isEqualTo(open + ":1: management.server.address: 0.0.0.0 (expected: a loopback address as long as "
                        + "weir.management.token is not set)\n");

        Path guarded = file(
                "gateway.yml",
                "management.server: { port: 9090, address: 0.0.0.0 }\nweir.management.token: 0123456789abcdefg");
        assertThat(ConfigurationCheck.resultOf("--spring.config.additional-location=file:" + guarded)
                        .report()
                        .lines())
                .isEmpty();
    }

    @Test
    void takesAnyTokenAsProtectionOfThePort() throws IOException {
        for (String token : List.of("read-only-token: 0123456789abcdef", "operators: { alice: 0123456789abcdef }")) {
            Path guarded = file(
                    "gateway.yml",
                    "management.server: { port: 9090, address: 0.0.0.0 }\nweir.management: { " + token + " }");
            assertThat(ConfigurationCheck.resultOf("--spring.config.additional-location=file:" + guarded)
                            .report()
                            .lines())
                    .isEmpty();
        }
    }

    @Test
    void refusesEqualTokensShortOnesAndHostsWithAPortWithoutShowingAToken() throws IOException {
        Path file = file("gateway.yml", """
                weir.management:
                  token: 0123456789abcdef
                  read-only-token: 0123456789abcdef
                  operators: { alice: 0123456789abcdeF, bob: hunter2 }
                  allowed-hosts: [ ops.example.com, "*.svc", "ops.example.com:8081" ]
                """);

        assertThat(MalformedConfiguration.check(file).lines())
                .isEqualTo(file + ":3: weir.management.read-only-token: ****** "
                        + "(expected: another token than that of weir.management.token)\n"
                        + file + ":4: weir.management.operators.bob: ****** (expected: 16 to 1024 characters)\n"
                        + file + ":5: weir.management.allowed-hosts[2]: ops.example.com:8081 "
                        + "(expected: a host name, or *. and a name, without a port)\n");
    }

    @Test
    void refusesTokensThatNoRequestCanSend() throws IOException {
        Path file = file("gateway.yml", """
                weir.management:
                  token: "0123456789abcdef\\n"
                  read-only-token: " 0123456789abcdef"
                  operators: { alice: "0123456789\\u0007abcdef", bob: "0123456789 abcdef+/=", eve: 0123456789abcdefä }
                """);

        String expected =
                ": ****** (expected: a text without control characters, and without white space at its" + " ends)\n";
        assertThat(MalformedConfiguration.check(file).lines())
                .isEqualTo(file + ":2: weir.management.token" + expected
                        + file + ":3: weir.management.read-only-token" + expected
                        + file + ":4: weir.management.operators.alice" + expected);
    }

    @Test
    void namesTheUnresolvedPlaceholderOfAPort() throws IOException {
        Path file = file(
                "gateway.yml",
                "server.port: ${PORT_THAT_IS_NOT_SET}\nmanagement.server.port: ${ITS_PORT_THAT_IS_NOT_SET}\n");

        assertThat(lines(file))
                .isEqualTo(file + ":1: server.port: ${PORT_THAT_IS_NOT_SET} "
                        + "(the placeholder PORT_THAT_IS_NOT_SET has no value)\n"
                        + file + ":2: management.server.port: ${ITS_PORT_THAT_IS_NOT_SET} "
                        + "(the placeholder ITS_PORT_THAT_IS_NOT_SET has no value)\n");
    }

    @Test
    void refusesSpringBootsHandlingOfForwardedHeaders() throws IOException {
        Path file = file("gateway.yml", "server.forward-headers-strategy: native\n");

        assertThat(lines(file))
                .isEqualTo(file + ":1: server.forward-headers-strategy: native "
                        + "(expected: none; list the trusted proxies in weir.edge.trusted-proxies)\n");
    }

    @Test
    void refusesAPeriodOfCertificatesThatIsTooShort() throws IOException {
        Path file = file("gateway.yml", "spring.ssl.bundle.watch.file.quiet-period: 99ms\n");

        assertThat(lines(file))
                .isEqualTo(file + ":1: spring.ssl.bundle.watch.file.quiet-period: 99ms (expected: at least 100ms)\n");
    }

    @Test
    void acceptsTheShortestPeriodOfCertificates() throws IOException {
        assertThat(lines(file("gateway.yml", "spring.ssl.bundle.watch.file.quiet-period: 100ms\n")))
                .isEmpty();
    }

    /** YAML reads {@code off} without quotes as a boolean. */
    @Test
    void acceptsAProxyProtocolThatIsOff() throws IOException {
        assertThat(lines(file("gateway.yml", "weir.edge.proxy-protocol: off\n")))
                .isEmpty();
    }

    @Test
    void acceptsAZeroDurationWithoutAUnit() throws IOException {
        assertThat(lines(file("gateway.yml", "weir.drain.delay: 0\n"))).isEmpty();
    }

    @Test
    void neverShowsAToken() throws IOException {
        Path file = file("gateway.yml", "weir:\n  management: { token: [hunter2], tokens: hunter2 }\n");

        assertThat(MalformedConfiguration.check(file).toString())
                .doesNotContain("hunter2")
                .contains("weir.management.tokens: ******");
    }

    @Test
    void acceptsAnEmptyMap() throws IOException {
        assertThat(MalformedConfiguration.check(file("gateway.yml", "weir.tracing.headers: {}\n"))
                        .problems())
                .isEmpty();
    }

    @Test
    void checksAnExistingEnvironment() {
        StandardEnvironment environment = new StandardEnvironment();
        environment
                .getPropertySources()
                .addFirst(new MapPropertySource(
                        "test", Map.of("weir.drain.delay", "1h", "management.server.port", "-1")));

        assertThat(reportOn(environment).problems())
                .extracting(ConfigurationProblem::toString)
                .containsExactly("test: weir.drain.delay: 1h (expected: 0 to 5m)");
    }

    private Path file(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    /** The report on a file without a management port in the arguments. */
    private static String lines(Path file) {
        return ConfigurationCheck.resultOf("--spring.config.additional-location=file:" + file)
                .report()
                .lines();
    }

    private static ValidationReport withManagement(String... arguments) {
        return ConfigurationCheck.resultOf(
                        Stream.concat(Arrays.stream(arguments), Stream.of(MalformedConfiguration.MANAGEMENT))
                                .toArray(String[]::new))
                .report();
    }

    /** A variable has no dashes, and no upper case of its own. */
    @Test
    void takesVariablesForANameWithADash() throws IOException {
        Path file = file("gateway.yml", "weir.backends.my-shop: { uri: \"http://shop\", deadline: 2s }\n");
        ConfigurableEnvironment environment = ConfigurationSources.read(
                        "--spring.config.additional-location=file:" + file, "--management.server.port=-1")
                .environment();

        ConfigurationSnapshot shop = withVariables(
                environment, Map.of("WEIR_BACKENDS_MYSHOP_DEADLINE", "3s", "WEIR_BACKENDS_MYSHOP_MAXSTREAMS", "7"));

        assertThat(shop.report().lines()).isEmpty();
        assertThat(shop.weir().backends()).containsOnlyKeys("my-shop");
        BackendProperties own = shop.weir().backends().values().iterator().next();
        assertThat(own.deadline()).hasSeconds(3);
        assertThat(own.maxStreams()).isEqualTo(7);
        assertThat(withVariables(environment, Map.of("WEIR_BACKENDS_MYSHOP_DEADLINE", "0s"))
                        .report()
                        .lines())
                .isEqualTo("environment variable WEIR_BACKENDS_MYSHOP_DEADLINE: weir.backends.myshop.deadline: 0s "
                        + "(expected: 1ms to 10m)\n");
    }

    private static ConfigurationSnapshot withVariables(
            ConfigurableEnvironment environment, Map<String, Object> variables) {
        environment
                .getPropertySources()
                .replace(
                        StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
                        new SystemEnvironmentPropertySource(
                                StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables));
        return ConfigurationSnapshot.of(environment);
    }

    private static ValidationReport withVariables(Map<String, Object> variables) {
        StandardEnvironment environment = new StandardEnvironment();
        environment
                .getPropertySources()
                .replace(
                        StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
                        new SystemEnvironmentPropertySource(
                                StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables));
        environment.getPropertySources().addLast(new MapPropertySource("test", Map.of("management.server.port", "-1")));
        return reportOn(environment);
    }

    private static ValidationReport reportOn(ConfigurableEnvironment environment) {
        return ConfigurationCheck.check(ConfigurationSources.of(environment)).report();
    }
}
