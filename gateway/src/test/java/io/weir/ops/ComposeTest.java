package io.weir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.yaml.snakeyaml.Yaml;

/** {@code ops/compose.yml}: every service has limits, and only the gateway is reachable from outside. */
class ComposeTest {

    private static final Path FILE = Path.of("..", "ops", "compose.yml");
    private static final Pattern EXPRESSION = Pattern.compile("\"expr\": \"(.*)\"");
    /** Of the gateway; the objective is the same for all of them. */
    private static final Pattern SERIES =
            Pattern.compile("\\b(?:weir(?!:slo_error_budget:)[_:]|resilience4j_|process_|jvm_)[a-z0-9_:]+");

    private static final Pattern UID = Pattern.compile("\"type\": \"prometheus\",\\s+\"uid\": \"([^\"]+)\"");

    @Test
    void definesAllServices() throws IOException {
        assertThat(read())
                .containsOnlyKeys("gateway", "mvc", "reactive", "postgres", "prometheus", "alertmanager", "grafana");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("services")
    void serviceHasLimitsOfProcessorsAndMemory(Map.Entry<String, Map<String, Object>> service) {
        assertThat(service.getValue().get("cpus")).isInstanceOfSatisfying(Number.class, cpus -> {
            if (List.of("gateway", "mvc", "reactive").contains(service.getKey())) {
                assertThat(cpus).isEqualTo(4);
            }
            assertThat(cpus.doubleValue()).isBetween(0.1, 4.0);
        });
        assertThat(service.getValue().get("mem_limit")).asString().matches("\\d+[mg]");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("services")
    void publishesOnlyTheGatewaysPort(Map.Entry<String, Map<String, Object>> service) {
        if (service.getKey().equals("postgres")) {
            assertThat(texts(service.getValue().get("ports")))
                    .filteredOn(port -> !port.startsWith("127.0.0.1:"))
                    .containsExactly("8080:8080");
        } else {
            assertThat(service.getValue())
                    .containsEntry("network_mode", "service:postgres")
                    .doesNotContainKey("ports");
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("services")
    void mountsExistingFiles(Map.Entry<String, Map<String, Object>> service) {
        assertThat(texts(service.getValue().get("volumes")))
                .filteredOn(volume -> volume.startsWith("."))
                .allSatisfy(volume -> {
                    assertThat(volume).endsWith(":ro");
                    assertThat(FILE.resolveSibling(volume.substring(0, volume.indexOf(':'))))
                            .exists();
                });
    }

    @Test
    void grafanaHasItsDashboardsAndTheirDataSource() throws IOException {
        Map<String, Object> grafana = Objects.requireNonNull(read().get("grafana"));
        Path provisioning = FILE.resolveSibling("grafana/provisioning");
        String dashboards = Files.readString(provisioning.resolve("dashboards/weir.yml"));
        String source = Files.readString(provisioning.resolve("datasources/weir.yml"));

        assertThat(texts(grafana.get("volumes")))
                .contains(
                        "./grafana/provisioning:/etc/grafana/provisioning:ro",
                        "./grafana/dashboards:" + value("path", dashboards) + ":ro");
        assertThat(value("url", source)).isEqualTo("${PROMETHEUS_URL}");
        assertThat((Map<?, ?>) grafana.get("environment"))
                .extracting("PROMETHEUS_URL")
                .isNotNull();
        try (Stream<Path> files = Files.list(FILE.resolveSibling("grafana/dashboards"))) {
            for (Path file : files.toList()) {
                String dashboard = Files.readString(file);
                assertThat(UID.matcher(dashboard).results().map(uid -> uid.group(1)))
                        .as("%s: data sources", file)
                        .isNotEmpty()
                        .containsOnly("${datasource}");
                assertThat(dashboard).contains("\"type\": \"datasource\"").doesNotContain("job=\\\"");
            }
        }
    }

    /** The gateways of a team may have any job: each series of the gateway is of the jobs that are chosen. */
    @ParameterizedTest
    @ValueSource(strings = {"overview", "backend"})
    void dashboardsShowTheGatewaysOfTheChosenJobs(String name) throws IOException {
        String dashboard = Files.readString(FILE.resolveSibling("grafana/dashboards/" + name + ".json"));

        assertThat(dashboard).contains("label_values(weir_build_info, job)");
        assertThat(EXPRESSION.matcher(dashboard).results().map(found -> found.group(1)))
                .isNotEmpty()
                .flatMap(expression -> SERIES.matcher(expression)
                        .results()
                        .map(series -> expression.substring(series.start()))
                        .toList())
                .allSatisfy(series -> assertThat(series).matches("[^{]+\\{job=~\\\\\"\\$job\\\\\".*"));
    }

    /** The value of a key that occurs once in a file. */
    private static String value(String name, String file) {
        Matcher line = Pattern.compile("(?m)^ +" + name + ": (\\S+)").matcher(file);
        assertThat(line.find()).as(name).isTrue();
        return line.group(1);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Map<String, Object>> read() throws IOException {
        Map<String, Object> file = new Yaml().load(Files.readString(FILE));
        return (Map<String, Map<String, Object>>) Objects.requireNonNull(file.get("services"));
    }

    static Stream<Map.Entry<String, Map<String, Object>>> services() throws IOException {
        return read().entrySet().stream();
    }

    private static List<String> texts(@Nullable Object list) {
        return list == null
                ? List.of()
                : ((List<?>) list).stream().map(String::valueOf).toList();
    }
}
