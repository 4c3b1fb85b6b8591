package io.weir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.accesslog.LogField;
import io.weir.engine.ExchangeOutcomes;
import io.weir.metrics.AllMeters;
import io.weir.metrics.Meters;
import io.weir.outcome.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Rules, runbooks, dashboards and the gateway use the same alerts, meters and reasons. */
class OpsVocabularyTest {

    private static final Path OPS = Path.of("..", "ops");
    private static final Pattern METER = Pattern.compile("(?<![\\w:])weir_[a-z0-9_]+");
    private static final Pattern RECORDED = Pattern.compile("weir:[a-z0-9_:]+");
    private static final Pattern RECORD = Pattern.compile("- record: (\\S+)");
    private static final Pattern ALERT = Pattern.compile("- alert: (\\w+)");
    private static final Pattern WORDS = Pattern.compile("(?:outcome|reason)(?:=~|!~|!=|=)\\\\?\"([^\"\\\\]+)");
    private static final Pattern RUNBOOK = Pattern.compile(
            "runbook_url: '\\{\\{ or \\$externalLabels\\.runbooks \"https://weir\\.example/runbooks\" }}/(\\w+\\.md)'");
    private static final Pattern LINK = Pattern.compile("]\\((\\w+\\.md)\\)");
    private static final Pattern CODE = Pattern.compile("`([a-z0-9-]+)`");
    private static final Pattern ADAPTED = Pattern.compile("name: \\{ as: (\\w+) }");
    private static final Pattern INHIBITION = Pattern.compile("alertname =~? \"?([\\w|]+)");

    private static final Pattern FIRST_CELL = Pattern.compile("(?m)^\\| (`[^|]+) \\|");
    private static final Pattern FIELD_OF_TABLE = Pattern.compile("`(\\w+)`");

    private final String rules = read("prometheus/rules", ".yml");
    private final String dashboards = read("grafana/dashboards", ".json");
    private final String runbooks = read("runbooks", ".md");

    @Test
    void everyMeterInOpsExists() {
        assertThat(existing()).containsAll(found(METER, rules + dashboards + runbooks));
    }

    @Test
    void everyRunbookWithAChangeNamesTheParameterForAllGateways() throws IOException {
        Pattern change = Pattern.compile("curl .*-X (POST|DELETE) .*/actuator/weir");
        for (String name : names("runbooks", ".md")) {
            String runbook = Files.readString(OPS.resolve("runbooks").resolve(name));
            assertThat(runbook.contains("`?fleet=true`")
                            || !change.matcher(runbook).find())
                    .as(name)
                    .isTrue();
        }
    }

    @Test
    void everyMeterIsInARuleOrOnADashboard() {
        Set<String> used = found(METER, rules + dashboards);

        for (Meters meter : AllMeters.list()) {
            assertThat(meter.definition().prometheusNames())
                    .as("%s is in no rule and on no dashboard", meter)
                    .anyMatch(used::contains);
        }
    }

    @Test
    void everyMeterInTheDocumentsExists() throws IOException {
        Set<String> adapted = found(ADAPTED, read("kubernetes", "adapter-rule.yaml"));
        Set<String> existing = existing();

        for (Path document : List.of(Path.of("..", "README.md"), OPS.resolve("README.md"))) {
            assertThat(found(METER, Files.readString(document)))
                    .as("%s", document)
                    .isNotEmpty()
                    // Documents name a histogram by the common prefix of its series.
                    .allMatch(name ->
                            existing.contains(name) || existing.contains(name + "_count") || adapted.contains(name));
        }
    }

    @Test
    void autoscalerUsesTheMetricsOfItsAdapter() {
        String adapter = read("kubernetes", "adapter-rule.yaml");

        assertThat(found(ADAPTED, adapter))
                .isNotEmpty()
                .doesNotContainAnyElementsOf(existing())
                .isEqualTo(found(METER, read("kubernetes", "autoscaler.yaml")));
        assertThat(existing()).containsAll(found(METER, ADAPTED.matcher(adapter).replaceAll("")));
    }

    @Test
    void everyRecordedSeriesIsUsedAndEveryUsedSeriesIsRecorded() {
        List<String> recorded =
                RECORD.matcher(rules).results().map(m -> m.group(1)).toList();
        String used = RECORD.matcher(rules).replaceAll("") + dashboards + runbooks;

        assertThat(found(RECORDED, used)).isEqualTo(new TreeSet<>(recorded));
    }

    @Test
    void everyReasonIsClassifiedAndInTheRunbooks() {
        Set<String> sorted = found(WORDS, read("prometheus/rules", "recording.yml"));
        Set<String> index = found(CODE, read("runbooks", "README.md"));

        for (Reason reason : Reason.values()) {
            assertThat(sorted).contains(reason.word());
            assertThat(index).contains(reason.word());
        }
    }

    @Test
    void runbooksListEveryReasonWithItsStatus() {
        Map<String, Integer> written = new TreeMap<>();
        table("reason", read("runbooks", "README.md")).forEach(row -> {
            List<String> words = List.copyOf(found(CODE, row.getFirst()));
            List<String> statuses = List.of(row.get(1).split(", ", -1));
            // In the order of the cell. A single status applies to all reasons.
            List<String> inOrder = words.stream()
                    .sorted(Comparator.comparingInt(row.getFirst()::indexOf))
                    .toList();
            for (int i = 0; i < inOrder.size(); i++) {
                written.put(inOrder.get(i), Integer.valueOf(statuses.get(Math.min(i, statuses.size() - 1))));
            }
        });

        assertThat(written)
                .isEqualTo(Arrays.stream(Reason.values())
                        .collect(Collectors.toMap(
                                Reason::word, reason -> reason.status().code())));
    }

    @Test
    void everyOutcomeInARunbookExists() {
        List<List<String>> rows = table("outcome", runbooks);

        assertThat(rows).isNotEmpty();
        assertThat(ExchangeOutcomes.words())
                .containsAll(rows.stream()
                        .flatMap(row -> found(CODE, row.getFirst()).stream())
                        .toList());
    }

    @Test
    void failuresAreServerErrorsAndClientErrorsAreNotCounted() {
        String recording = read("prometheus/rules", "recording.yml");

        // The others are the answered requests, of an objective of latency.
        assertThat(each(recording, "outcome=~\""))
                .filteredOn(outcomes -> !outcomes.equals(Set.of("2xx", "3xx", "4xx", "fallback")))
                .hasSize(1)
                .first()
                .satisfies(failed -> assertThat(failed)
                        .containsExactlyInAnyOrderElementsOf(Stream.concat(
                                        Stream.of("5xx"),
                                        Arrays.stream(Reason.values())
                                                .filter(reason ->
                                                        reason.status().code() >= 500)
                                                .map(Reason::word))
                                .collect(Collectors.toSet())));
        assertThat(each(recording, "outcome!~\""))
                .hasSize(1)
                .first()
                .satisfies(notCounted -> assertThat(notCounted)
                        .containsExactlyInAnyOrderElementsOf(Arrays.stream(Reason.values())
                                .filter(reason -> reason.status().code() < 500)
                                .map(Reason::word)
                                .collect(Collectors.toSet())));
    }

    @Test
    void everyOutcomeAndReasonInOpsExists() {
        assertThat(ExchangeOutcomes.words()).containsAll(found(WORDS, rules + dashboards + runbooks));
    }

    @Test
    void everyAlertHasARunbookAndEveryRunbookAnAlert() {
        Set<String> alerts = found(ALERT, rules);
        Set<String> written = names("runbooks", ".md");
        written.remove("README.md");

        assertThat(written)
                .isEqualTo(alerts.stream().map(name -> name + ".md").collect(Collectors.toCollection(TreeSet::new)));
        assertThat(found(RUNBOOK, rules))
                .isEqualTo(alerts.stream().map(name -> name + ".md").collect(Collectors.toCollection(TreeSet::new)));
        assertThat(found(LINK, runbooks)).isEqualTo(written);
    }

    @Test
    void everyAlertHasASeverityAndLinksItsRunbook() {
        for (String alert : rules.split("(?m)(?=^ +- alert: )", -1)) {
            if (alert.contains("- alert: ")) {
                String name = found(ALERT, alert).iterator().next();
                assertThat(alert)
                        .contains("summary: ", "description: ", "weir.example/runbooks\" }}/" + name + ".md'")
                        .containsPattern("severity: (page|ticket)");
            }
        }
    }

    @Test
    void everyRunbookHasItsFourParts() {
        for (String name : names("runbooks", ".md")) {
            if (!name.equals("README.md")) {
                assertThat(read("runbooks", name))
                        .as(name)
                        .startsWith("# " + name.replace(".md", "") + "\n")
                        .containsSubsequence(
                                "\n## Meaning\n", "\n## Impact\n", "\n## Diagnosis\n", "\n## Mitigation\n");
            }
        }
    }

    @Test
    void everyInhibitionRefersToExistingAlerts() {
        assertThat(found(ALERT, rules)).containsAll(found(INHIBITION, read("prometheus", "alertmanager.yml")));
    }

    @Test
    void everyFieldOfTheAccessLogIsInItsTable() throws IOException {
        String readme = Files.readString(OPS.resolve("README.md"));
        int begin = readme.indexOf("## The access log");
        String table = readme.substring(begin, readme.indexOf("\n## ", begin));
        assertThat(found(
                        FIELD_OF_TABLE,
                        FIRST_CELL
                                .matcher(table)
                                .results()
                                .map(cell -> cell.group(1))
                                .collect(Collectors.joining("\n"))))
                .containsExactlyInAnyOrderElementsOf(Arrays.stream(LogField.values())
                        .map(field -> field.name().toLowerCase(Locale.ROOT))
                        .toList());
    }

    /** The names of all series of the gateway's own meters. */
    private static Set<String> existing() {
        return AllMeters.list().stream()
                .map(meter -> meter.definition().prometheusNames())
                .flatMap(Collection::stream)
                .collect(Collectors.toSet());
    }

    /** The cells of the rows of all tables with this name of the first column. */
    private static List<List<String>> table(String first, String text) {
        List<List<String>> rows = new ArrayList<>();
        boolean within = false;
        for (String line : text.lines().toList()) {
            boolean head = line.startsWith("| " + first + " |");
            within = head || (within && line.startsWith("|"));
            if (within && !head && !line.startsWith("|-")) {
                rows.add(Arrays.stream(line.substring(1).split("\\|", -1))
                        .map(String::strip)
                        .toList());
            }
        }
        return rows;
    }

    /** All matches of a pattern, or of its first group if it has one, split at each {@code |}. */
    private static Set<String> found(Pattern pattern, String text) {
        return pattern.matcher(text)
                .results()
                .map(match -> match.groupCount() > 0 ? match.group(1) : match.group())
                .flatMap(match -> Arrays.stream(match.split("\\|", -1)))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** The distinct lists of words that follow a prefix. */
    private static Set<Set<String>> each(String text, String before) {
        Set<Set<String>> lists = new LinkedHashSet<>();
        Pattern.compile(Pattern.quote(before) + "([^\"]+)")
                .matcher(text)
                .results()
                .forEach(match -> lists.add(Set.of(match.group(1).split("\\|", -1))));
        return lists;
    }

    private static Set<String> names(String folder, String ending) {
        try (Stream<Path> files = Files.list(OPS.resolve(folder))) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(ending))
                    .collect(Collectors.toCollection(TreeSet::new));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(String folder, String ending) {
        return names(folder, ending).stream()
                .map(name -> {
                    try {
                        return Files.readString(OPS.resolve(folder).resolve(name));
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                })
                .collect(Collectors.joining("\n"));
    }
}
