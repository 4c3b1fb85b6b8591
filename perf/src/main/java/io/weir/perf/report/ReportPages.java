package io.weir.perf.report;

import com.samskivert.mustache.Mustache;
import com.samskivert.mustache.Template;
import io.weir.perf.report.Claims.Agreement;
import io.weir.perf.report.Claims.ComparedClaim;
import io.weir.perf.result.Claim;
import io.weir.perf.result.Request;
import io.weir.perf.result.RunFigures;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.Assertion;
import io.weir.perf.result.RunResult.ProcessSample;
import io.weir.perf.result.RunResult.Step;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Fills the templates. The templates escape all text; the pages refer to nothing outside. */
final class ReportPages {

    /** Properties with their own place on the page. */
    private static final Set<String> SHOWN_APART = Set.of(
            "experiment",
            "mode",
            "question",
            "command",
            "limit.sentence",
            "valid",
            "invalid.why",
            "notes",
            "compare",
            "panels");

    private static final List<String> REQUEST_FIGURES = List.of(
            "requests took-seconds throughput success-percent mean-ms p50-ms p90-ms p99-ms max-ms".split(" ", -1));
    private static final List<String> PROCESS_FIGURES =
            List.of("cpu-percent cpu-micros-per-request rss-mb rss-kb-per-request threads connections".split(" ", -1));

    /** A run with a page, for the templates. {@code path} is the run's directory, relative to the index. */
    record WrittenPage(
            RunResult run, String path, List<ComparedClaim> claims, Checklist checklist, List<String> gatlingReports) {

        Map<String, Object> values() {
            Map<String, Object> values = new TreeMap<>(run.properties());
            values.put("limit", run.property("limit.sentence"));
            values.put("claims", claims.stream().map(ReportPages::claim).toList());
            values.put("checklist", checklist.lines());
            values.put("missed", String.join("; ", checklist.missed()));
            values.put("agreed", count(claims, line -> line.agreement() == Agreement.YES));
            values.put("held", count(run.assertions(), Assertion::holds));
            values.put("holds", run.holds());
            values.put("invalidReason", run.invalidReason());
            values.put("href", path + "/index.html");
            values.put("gatling", links(gatlingReports, path + '/'));
            return values;
        }

        private static <T> String count(List<T> all, Predicate<T> matches) {
            return all.isEmpty() ? "" : all.stream().filter(matches).count() + " of " + all.size();
        }
    }

    private ReportPages() {}

    static WrittenPage write(Path results, RunResult run) throws IOException {
        RunFigures figures = RunFigures.of(run);
        Path directory = run.directory();
        String path = results.relativize(directory).toString();
        Checklist checklist = Checklist.of(run);
        List<ComparedClaim> claims =
                run.invalidReason().isEmpty() ? Claims.compare(run, figures, checklist) : List.of();
        WrittenPage page = new WrittenPage(run, path, claims, checklist, files(directory, "gatling/[^/]+/index.html"));
        Map<String, Object> values = page.values();
        Map<String, String> environment = new TreeMap<>(run.properties());
        environment.keySet().removeAll(SHOWN_APART);
        values.put("properties", environment.entrySet());
        values.put("table", requestTable(run, figures));
        values.put("plots", StepPlots.write(run, figures));
        values.put("comparison", run.comparison());
        values.put(
                "facts",
                run.facts().stream()
                        .filter(fact -> !run.comparison().contains(fact.name()))
                        .toList());
        values.put("processes", processTable(run, figures));
        values.put("assertions", run.assertions());
        values.put("gatling", links(page.gatlingReports, ""));
        values.put("raw", links(files(directory, "[^/]+\\.(csv|csv\\.gz|properties)"), ""));
        Files.writeString(directory.resolve("index.html"), template("run.html").execute(values));
        return page;
    }

    static void fill(String template, Path file, List<WrittenPage> pages) throws IOException {
        List<?> runs = pages.stream().map(WrittenPage::values).toList();
        Files.writeString(file, template(template).execute(Map.of("runs", runs)));
    }

    private static Map<String, String> claim(ComparedClaim line) {
        Claim claim = line.claim();
        boolean namesFigure =
                claim.claimed().matches(".*[a-zA-Z].*") && line.reference().isPresent();
        String reference = namesFigure ? " (" + number(line.reference()) + ')' : "";
        boolean unitless = claim.tolerance().isEmpty() || claim.tolerance().endsWith("%");
        return Map.of(
                "name", claim.name(),
                "claimed", (claim.claimed() + reference + ' ' + claim.unit()).strip(),
                "tolerance", unitless ? claim.tolerance().replace("%", " %") : claim.tolerance() + ' ' + claim.unit(),
                "measured", line.measured().isEmpty() ? "–" : (number(line.measured()) + ' ' + claim.unit()).strip(),
                "agrees", line.agreement().text(),
                "kind", line.agreement().text().replace(' ', '-'),
                "why", line.reason(),
                "source", claim.source());
    }

    private static Map<String, Object> requestTable(RunResult run, RunFigures figures) {
        Map<String, Set<String>> names = run.requests().stream().collect(byStep(Request::step, Request::name));
        return table(run, figures, REQUEST_FIGURES, step -> {
            Set<String> ofStep = names.getOrDefault(step.id(), Set.of());
            return ofStep.size() > 1 ? ofStep : Set.of("");
        });
    }

    private static Map<String, Object> processTable(RunResult run, RunFigures figures) {
        Map<String, Set<String>> names =
                run.processes().stream().collect(byStep(ProcessSample::step, ProcessSample::process));
        return table(run, figures, PROCESS_FIGURES, step -> names.getOrDefault(step.id(), Set.of()));
    }

    private static <T> Collector<T, ?, Map<String, Set<String>>> byStep(
            Function<T, String> step, Function<T, String> name) {
        return Collectors.groupingBy(step, Collectors.mapping(name, Collectors.toCollection(TreeSet::new)));
    }

    private static Map<String, Object> table(
            RunResult run, RunFigures figures, List<String> columns, Function<Step, Set<String>> names) {
        Stream<Map<String, Object>> rows = run.steps().stream()
                .flatMap(step -> names.apply(step).stream().map(name -> row(figures, step, name, columns)));
        return Map.of("columns", columns, "rows", rows.toList());
    }

    private static Map<String, Object> row(RunFigures figures, Step step, String name, List<String> columns) {
        String suffix = name.isEmpty() ? "" : '/' + name;
        return Map.of(
                "name",
                name.isEmpty() ? step.name() : step.name() + ", " + name,
                "cells",
                columns.stream()
                        .map(column -> figures.get(step, column + suffix))
                        .toList());
    }

    /** The paths below the directory of a run that match. */
    private static List<String> files(Path run, String pattern) throws IOException {
        try (Stream<Path> files = Files.walk(run, 3)) {
            return files.map(file -> run.relativize(file).toString())
                    .filter(file -> file.matches(pattern))
                    .sorted()
                    .toList();
        }
    }

    private static List<Map<String, String>> links(List<String> files, String prefix) {
        return files.stream()
                .map(file -> Map.of(
                        "name",
                        file.replace("/index.html", ""),
                        "href",
                        prefix + file.replace("%", "%25").replace(" ", "%20")))
                .toList();
    }

    /** Three significant digits, and no decimals from a hundred on; – without a value. */
    static String number(OptionalDouble measured) {
        double value = measured.orElse(Double.NaN);
        if (Double.isNaN(value)) {
            return "–";
        }
        double size = Math.abs(value);
        int digits = size == 0 || size >= 100 || value == Math.rint(value)
                ? 0
                : (int) Math.clamp(2 - Math.floor(Math.log10(size)), 1, 6);
        return String.format(Locale.ROOT, "%." + digits + "f", value);
    }

    private static String format(Object value) {
        return switch (value) {
            case Double number -> number(OptionalDouble.of(number));
            case OptionalDouble number -> number(number);
            case Boolean holds -> holds ? "yes" : "no";
            default -> String.valueOf(value);
        };
    }

    private static Template template(String name) {
        try (var stream = Objects.requireNonNull(ReportPages.class.getResourceAsStream(name), name)) {
            return Mustache.compiler()
                    .defaultValue("")
                    .emptyStringIsFalse(true)
                    .withFormatter(ReportPages::format)
                    .escapeHTML(name.endsWith(".html"))
                    .compile(new InputStreamReader(stream, StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
