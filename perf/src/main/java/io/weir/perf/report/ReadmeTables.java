package io.weir.perf.report;

import io.weir.perf.result.InvalidFileException;
import io.weir.perf.result.KeptTable;
import io.weir.perf.result.PromiseTable.Promise;
import io.weir.perf.result.RunFigures;
import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The tables of measured figures in the pages for readers, made from the kept set: {@code perf/report
 * --readme}.
 *
 * <table><caption>Blocks</caption>
 * <tr><td>{@code <!-- measured: table NAME -->}</td><td>all rows of a scenario or benchmark</td></tr>
 * <tr><td>{@code <!-- measured: rows NAME: TEXT; NAME: TEXT -->}</td><td>some of them, from any</td></tr>
 * <tr><td>{@code <!-- measured: scenarios -->}</td><td>the tables of all scenarios</td></tr>
 * <tr><td>{@code <!-- measured: origin -->}</td><td>what was measured when, where, at which commit</td></tr>
 * <tr><td>{@code <!-- measured: fronts -->}</td><td>the panels of the plot of {@code containment}</td></tr>
 * <tr><td>{@code <!-- measured: neighbour -->}</td><td>the neighbour's figures in each fault and front of
 * {@code containment}</td></tr>
 * </table>
 *
 * Each block ends with {@code <!-- end -->}. Links to a kept set are made links to this one.
 */
final class ReadmeTables {

    /** The pages with blocks, from the root of the repository. */
    static final List<Path> PAGES = List.of(Path.of("README.md"), Path.of("perf", "README.md"));

    private static final Pattern BLOCK =
            Pattern.compile("(<!-- measured: (\\w+) ?([^\n]*?) -->\n).*?(<!-- end -->)", Pattern.DOTALL);
    private static final Pattern SET_LINK = Pattern.compile("results/\\d+-cores");
    private static final Pattern NEIGHBOUR = Pattern.compile("(\\w+)\\.(\\w+)\\.neighbour\\.success");

    private static final Set<String> BENCHMARKS = Set.of("bench", "bench-tls", "bulkhead", "dashboard-cost", "reload");

    private static final Map<String, String> FRONTS = Map.of(
            "protected", "behind the gateway with its protections",
            "unprotected", "without them",
            "capped", "without them, and with the protected gateway's cap of 200 callers' connections",
            "threads", "behind Spring MVC with 200 threads");

    private final Path set;
    private final Map<String, KeptTable> tables;

    private ReadmeTables(Path set) throws IOException {
        this.set = set;
        this.tables = KeptTable.readAll(set.resolve(KeptTable.DIRECTORY)).stream()
                .collect(Collectors.toMap(KeptTable::name, Function.identity()));
    }

    /** The tables of the one kept set of the results. */
    static ReadmeTables of(Path results) throws IOException {
        try (Stream<Path> sets = Files.list(results)) {
            List<Path> found = sets.filter(Files::isDirectory)
                    .filter(set -> set.getFileName().toString().matches("\\d+-cores"))
                    .sorted()
                    .toList();
            if (found.size() != 1) {
                throw new InvalidFileException(results + ": kept sets " + found + " (expected: one)");
            }
            return new ReadmeTables(found.getFirst());
        }
    }

    /** Writes the tables into both pages. */
    static void write(Path root) throws IOException {
        ReadmeTables readme = of(root.resolve("perf/results"));
        for (Path page : PAGES) {
            Path file = root.resolve(page);
            Files.writeString(file, readme.fill(Files.readString(file)));
        }
    }

    /** The page with the tables of the set. */
    String fill(String page) {
        String linked = SET_LINK.matcher(page).replaceAll("results/" + set.getFileName());
        return BLOCK.matcher(linked)
                .replaceAll(block -> Matcher.quoteReplacement(block.group(1) + content(block) + block.group(4)));
    }

    private String content(MatchResult block) {
        return switch (block.group(2)) {
            case "table" -> table(block.group(3));
            case "rows" -> rows(block.group(3));
            case "neighbour" -> neighbour();
            case "scenarios" -> scenarios();
            case "origin" -> origin();
            case "fronts" -> fronts();
            default ->
                throw new InvalidFileException(
                        block.group(1).strip() + " (expected: table, rows, neighbour, scenarios, origin or fronts)");
        };
    }

    private KeptTable find(String name) {
        KeptTable found = tables.get(name);
        if (found == null) {
            throw new InvalidFileException(
                    set.resolve(KeptTable.DIRECTORY) + ": no " + name + ".csv (there are: " + tables.keySet() + ")");
        }
        return found;
    }

    private String table(String name) {
        KeptTable table = find(name);
        List<List<String>> lines = new ArrayList<>();
        lines.add(List.of('`' + table.command() + "`, " + table.date(), "promised", "measured", "holds"));
        table.rows().forEach(row -> lines.add(cells(row, row.text())));
        return markdown(lines);
    }

    private static List<String> cells(Promise row, String text) {
        String holds = row.promised().isEmpty() ? "" : row.holds() ? "yes" : "**no**";
        return List.of(text, row.promised(), row.measured(), holds);
    }

    private String rows(String list) {
        List<List<String>> lines = new ArrayList<>();
        lines.add(List.of("", "promised", "measured", "holds"));
        Arrays.stream(list.split("; ", -1)).map(one -> one.split(": ", 2)).forEach(one -> {
            Promise row = find(one[0]).row(one[1]);
            lines.add(cells(row, '`' + one[0] + "`: " + row.text()));
        });
        return markdown(lines);
    }

    private String scenarios() {
        return tables.values().stream()
                .filter(table -> !BENCHMARKS.contains(table.name()))
                .sorted(Comparator.comparing(KeptTable::name))
                .map(table -> table(table.name()))
                .collect(Collectors.joining("\n"));
    }

    /** A line for each commit, date and machine of tables, and of runs. */
    private String origin() {
        Map<String, List<String>> measured = new TreeMap<>();
        tables.values()
                .forEach(table -> measured.computeIfAbsent(
                                made(table.commit(), table.date(), table.machine()), _ -> new ArrayList<>())
                        .add('`' + table.command() + '`'));
        for (Properties run : runs()) {
            String made = made(
                    run.getProperty("gateway.commit", ""),
                    run.getProperty("began", "").replaceFirst("T.*", ""),
                    run.getProperty("host", "") + ", " + run.getProperty("cpus.host", "") + " processors");
            measured.computeIfAbsent(made, _ -> new ArrayList<>())
                    .add("`perf/run %s --%s`".formatted(run.getProperty("experiment"), run.getProperty("mode")));
        }
        return measured.entrySet().stream()
                .map(one -> "- %s: %s%n"
                        .formatted(
                                one.getKey(),
                                one.getValue().stream().sorted().distinct().collect(Collectors.joining(", "))))
                .collect(Collectors.joining());
    }

    private static String made(String commit, String date, String machine) {
        return date + ", " + (commit.isEmpty() ? "commit not recorded" : "commit " + commit)
                + (machine.isEmpty() ? "" : ", " + machine);
    }

    /** The properties of the runs of the set. */
    private List<Properties> runs() {
        try (Stream<Path> files = Files.walk(set, 2)) {
            List<Properties> runs = new ArrayList<>();
            for (Path file : files.filter(one -> one.toString().endsWith(".properties"))
                    .sorted()
                    .toList()) {
                Properties run = new Properties();
                try (Reader reader = Files.newBufferedReader(file)) {
                    run.load(reader);
                }
                if (run.containsKey("experiment")) {
                    runs.add(run);
                }
            }
            return runs;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String fronts() {
        return "From top to bottom: "
                + RunFigures.facts(set.resolve("containment")).names().stream()
                        .map(NEIGHBOUR::matcher)
                        .filter(Matcher::matches)
                        .map(fact -> fact.group(1))
                        .distinct()
                        .map(front -> FRONTS.getOrDefault(front, front))
                        .collect(Collectors.joining("; "))
                + ".\n";
    }

    /** Of the facts of containment: a row for each fault, a column for each front. */
    private String neighbour() {
        Path directory = set.resolve("containment");
        RunFigures figures = RunFigures.facts(directory);
        List<MatchResult> facts = figures.names().stream()
                .map(NEIGHBOUR::matcher)
                .filter(Matcher::matches)
                .map(Matcher::toMatchResult)
                .toList();
        List<String> fronts =
                facts.stream().map(fact -> fact.group(1)).distinct().toList();
        List<List<String>> lines = new ArrayList<>();
        List<String> head = new ArrayList<>(List.of("answered, p99 (before the fault)"));
        head.addAll(fronts);
        lines.add(head);
        for (String fault : facts.stream().map(fact -> fact.group(2)).distinct().toList()) {
            List<String> line = new ArrayList<>(List.of(fault));
            fronts.forEach(front -> line.add(neighbour(figures, front + '.' + fault + ".neighbour.")));
            lines.add(line);
        }
        return markdown(lines);
    }

    private static String neighbour(RunFigures figures, String prefix) {
        return figures.get(prefix + "success").isEmpty()
                ? "–"
                : String.format(
                        Locale.ROOT,
                        "%.1f %%, %.0f ms (%.0f ms)",
                        figures.get(prefix + "success").orElse(Double.NaN),
                        figures.get(prefix + "p99").orElse(Double.NaN),
                        figures.get(prefix + "p99.calm").orElse(Double.NaN));
    }

    private static String markdown(List<List<String>> lines) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < lines.size(); i++) {
            text.append("| ")
                    .append(lines.get(i).stream()
                            .map(cell -> cell.replace("|", "\\|"))
                            .collect(Collectors.joining(" | ")))
                    .append(" |\n");
            if (i == 0) {
                text.append("|---".repeat(lines.getFirst().size())).append("|\n");
            }
        }
        return text.toString();
    }
}
