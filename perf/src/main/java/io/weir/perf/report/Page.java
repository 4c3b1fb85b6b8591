package io.weir.perf.report;

import com.samskivert.mustache.Mustache;
import com.samskivert.mustache.Template;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The pages, without anything from outside: what stands in them is given to the templates as text. */
final class Page {

    /** What the page says in places of its own. */
    private static final Set<String> SHOWN_APART = Set.of(
            "experiment", "mode", "question", "command", "limit.sentence", "valid", "invalid.why", "notes", "compare");

    private static final List<String> OF_REQUESTS = List.of(
            "requests",
            "took-seconds",
            "throughput",
            "success-percent",
            "mean-ms",
            "p50-ms",
            "p90-ms",
            "p99-ms",
            "max-ms");
    private static final List<String> OF_PROCESSES =
            List.of("cpu-percent", "cpu-micros-per-request", "rss-mb", "rss-kb-per-request", "threads", "connections");

    private static final Template RUN = template("run.html");
    private static final Template INDEX = template("index.html");
    private static final Template TEXT = template("kept.md");

    /** A run whose page was written. */
    record Written(Run run, String path, List<Claims.Line> claims, List<String> gatling) {}

    private record Property(String name, String value) {}

    private record Cells(String name, List<String> cells) {}

    private record Link(String name, String href) {}

    private record Entry(
            String experiment,
            String mode,
            String question,
            String began,
            String href,
            String claims,
            String assertions,
            String holds,
            String noResult,
            List<Link> gatling) {}

    private Page() {}

    /** Writes the page of a run, and its plots. */
    static Written write(Path results, Run run, Claims shipped) throws IOException {
        Figures figures = Figures.of(run);
        boolean noResult = !run.invalid().isEmpty();
        // Figures of a run that is no result are not held against anything.
        List<Claims.Line> claims = noResult ? List.of() : shipped.compare(run, figures);
        List<String> gatling = gatling(run.directory());
        Files.writeString(
                run.directory().resolve("index.html"),
                RUN.execute(Map.of(
                        "experiment", run.property("experiment"),
                        "mode", run.property("mode"),
                        "question", run.property("question"),
                        "limit", run.property("limit.sentence"),
                        "noResult", run.invalid(),
                        "command", run.property("command"),
                        "properties", properties(run),
                        "claims", claims.stream().map(Page::claim).toList(),
                        "table", requests(run, figures),
                        "more",
                                Map.of(
                                        "plots",
                                        Plots.write(run, figures),
                                        "notes",
                                        run.property("notes"),
                                        "facts",
                                        facts(run),
                                        "comparison",
                                        comparison(run.comparison()),
                                        "processes",
                                        processes(run, figures),
                                        "assertions",
                                        run.assertions().stream()
                                                .map(Page::assertion)
                                                .toList(),
                                        "gatling",
                                        links(gatling, ""),
                                        "raw",
                                        links(raw(run.directory()), "")))));
        return new Written(run, results.relativize(run.directory()).toString().replace('\\', '/'), claims, gatling);
    }

    /** Writes the page that links them all. */
    static void writeIndex(Path results, List<Written> pages) throws IOException {
        List<Entry> entries = pages.stream()
                .map(page -> new Entry(
                        page.run.property("experiment"),
                        page.run.property("mode"),
                        page.run.property("question"),
                        page.run.property("began"),
                        page.path + "/index.html",
                        agreed(page.claims),
                        held(page.run),
                        page.run.holds() ? "yes" : "no",
                        page.run.invalid(),
                        links(page.gatling, page.path + '/')))
                .toList();
        Files.writeString(results.resolve("index.html"), INDEX.execute(Map.of("runs", entries)));
    }

    /** Writes what was claimed and measured as text, for where pages are not shown. */
    static void writeText(Path kept, List<Written> pages) throws IOException {
        Files.writeString(
                kept.resolve("README.md"),
                TEXT.execute(Map.of(
                        "runs",
                        pages.stream()
                                .map(page -> Map.of(
                                        "experiment", page.run.property("experiment"),
                                        "mode", page.run.property("mode"),
                                        "question", page.run.property("question"),
                                        "command", page.run.property("command"),
                                        "began", page.run.property("began"),
                                        "limit", page.run.property("limit.sentence"),
                                        "claims",
                                                page.claims.stream()
                                                        .map(Page::claim)
                                                        .toList(),
                                        "assertions", held(page.run)))
                                .toList())));
    }

    private static String agreed(List<Claims.Line> claims) {
        long agreed = claims.stream()
                .filter(line -> line.agreement() == Claims.Agreement.YES)
                .count();
        return claims.isEmpty() ? "" : agreed + " of " + claims.size();
    }

    private static Map<String, String> claim(Claims.Line line) {
        return Map.of(
                "name", line.name(),
                "claimed", claimed(line),
                "tolerance", tolerance(line),
                "measured", line.measured().isEmpty() ? "–" : (number(line.measured()) + ' ' + line.unit()).strip(),
                "agrees", line.agreement().word(),
                "kind", line.agreement().word().replace(' ', '-'),
                "why", line.why(),
                "source", line.source());
    }

    private static Map<String, String> assertion(Run.Assertion assertion) {
        String holds = assertion.holds() ? "yes" : "no";
        return Map.of("run", assertion.run(), "text", assertion.text(), "actual", assertion.actual(), "holds", holds);
    }

    private static String held(Run run) {
        long held = run.assertions().stream().filter(Run.Assertion::holds).count();
        return run.assertions().isEmpty()
                ? ""
                : held + " of " + run.assertions().size();
    }

    /** With its figure where it names one. */
    private static String claimed(Claims.Line line) {
        boolean named = line.claimed().matches(".*[a-zA-Z].*") && line.beside().isPresent();
        return (line.claimed() + (named ? " (" + number(line.beside()) + ')' : "") + ' ' + line.unit()).strip();
    }

    private static String tolerance(Claims.Line line) {
        return line.tolerance().isEmpty() || line.tolerance().endsWith("%")
                ? line.tolerance().replace("%", " %")
                : line.tolerance() + ' ' + line.unit();
    }

    private static List<Property> properties(Run run) {
        return run.properties().entrySet().stream()
                .filter(property -> !SHOWN_APART.contains(property.getKey()))
                .map(property -> new Property(property.getKey(), property.getValue()))
                .toList();
    }

    /** All that was measured of each step's requests, for those who cannot see the plots, too; of each kind by itself, where there are several. */
    private static Map<String, Object> requests(Run run, Figures figures) {
        Map<String, Set<String>> names = run.requests().stream().collect(byStep(Run.Request::step, Run.Request::name));
        return Map.of(
                "columns",
                OF_REQUESTS,
                "rows",
                run.steps().stream()
                        .flatMap(step -> {
                            Set<String> here = names.getOrDefault(step.id(), Set.of());
                            return here.size() > 1
                                    ? here.stream().map(name -> cells(figures, step, name, OF_REQUESTS))
                                    : Stream.of(cells(figures, step, "", OF_REQUESTS));
                        })
                        .toList());
    }

    /** All that was seen in each step of each process. */
    private static Map<String, Object> processes(Run run, Figures figures) {
        Map<String, Set<String>> names =
                run.processes().stream().collect(byStep(Run.Sample::step, Run.Sample::process));
        return Map.of(
                "columns",
                OF_PROCESSES,
                "rows",
                run.steps().stream()
                        .flatMap(step -> names.getOrDefault(step.id(), Set.of()).stream()
                                .map(name -> cells(figures, step, name, OF_PROCESSES)))
                        .toList());
    }

    private static <T> Collector<T, ?, Map<String, Set<String>>> byStep(
            Function<T, String> step, Function<T, String> name) {
        return Collectors.groupingBy(step, Collectors.mapping(name, Collectors.toCollection(TreeSet::new)));
    }

    /** A row of a step's figures; of all, or of what is called so. */
    private static Cells cells(Figures figures, Run.Step step, String name, List<String> columns) {
        return new Cells(
                name.isEmpty() ? step.name() : step.name() + ", " + name,
                columns.stream()
                        .map(column -> figures.get(step, name.isEmpty() ? column : column + '/' + name))
                        .map(value -> value.isNaN() ? "–" : number(OptionalDouble.of(value)))
                        .toList());
    }

    private static Map<String, Object> comparison(Comparison comparison) {
        return Map.of(
                "of",
                comparison.of(),
                "rows",
                comparison.rows().stream()
                        .map(row -> Map.of(
                                "name",
                                row.name(),
                                "unit",
                                row.unit(),
                                "cells",
                                row.values().stream()
                                        .map(value -> value.isPresent() ? number(value) : "–")
                                        .toList()))
                        .toList());
    }

    private static List<Map<String, String>> facts(Run run) {
        Comparison comparison = run.comparison();
        return run.facts().stream()
                .filter(fact -> !comparison.has(fact.name()))
                .map(fact -> Map.of(
                        "name", fact.name(), "value", number(OptionalDouble.of(fact.value())), "unit", fact.unit()))
                .toList();
    }

    /** Gatling's own reports, which stand beside: each is a folder with a page. */
    private static List<String> gatling(Path run) throws IOException {
        Path gatling = run.resolve("gatling");
        if (!Files.isDirectory(gatling)) {
            return List.of();
        }
        try (Stream<Path> files = Files.walk(gatling, 2)) {
            return files.filter(file -> file.getFileName().toString().equals("index.html"))
                    .map(file -> run.relativize(file).toString().replace('\\', '/'))
                    .sorted()
                    .toList();
        }
    }

    private static List<String> raw(Path run) throws IOException {
        try (Stream<Path> files = Files.list(run)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".csv") || name.endsWith(".properties"))
                    .sorted()
                    .toList();
        }
    }

    private static List<Link> links(List<String> files, String before) {
        return files.stream()
                .map(file -> new Link(
                        file.replace("/index.html", ""),
                        before + file.replace("%", "%25").replace(" ", "%20")))
                .toList();
    }

    /** With as many digits as say something: three, and none after the point from a hundred on. */
    static String number(OptionalDouble measured) {
        double value = measured.orElse(Double.NaN);
        double size = Math.abs(value);
        int digits = size == 0 || size >= 100 || value == Math.rint(value)
                ? 0
                : (int) Math.max(1, Math.min(6, 2 - Math.floor(Math.log10(size))));
        return String.format(Locale.ROOT, "%." + digits + "f", value);
    }

    private static Template template(String name) {
        try (var stream = Page.class.getResourceAsStream(name)) {
            if (stream == null) {
                throw new IllegalStateException(name + ": not in this jar");
            }
            Reader reader = new InputStreamReader(stream, StandardCharsets.UTF_8);
            return Mustache.compiler()
                    .emptyStringIsFalse(true)
                    .escapeHTML(name.endsWith(".html"))
                    .compile(reader);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
