package io.weir.perf.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.weir.perf.result.InvalidFileException;
import io.weir.perf.result.KeptTable;
import io.weir.perf.result.PromiseTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReadmeTablesTest {

    private static final Path ROOT = Path.of("..");

    @TempDir
    private Path results;

    private Path set;

    @BeforeEach
    void keepTwoTables() throws IOException {
        set = Files.createDirectories(results.resolve("2-cores"));
        PromiseTable hang = new PromiseTable();
        hang.atLeast("answered", 97, 98.5, "%");
        hang.atMost("refused, a|b", 0, 2, "");
        hang.show("another proxy", "90 %");
        keep("hang", hang);
        PromiseTable bench = new PromiseTable();
        bench.atLeast("forwarded", .75, .9, "times");
        keep("bench", bench);
    }

    private void keep(String name, PromiseTable table) throws IOException {
        new KeptTable(name, "perf/scenario " + name, "abc", "2026-01-02", "a, machine", table.rows())
                .write(set.resolve(KeptTable.DIRECTORY));
    }

    /** {@code perf/report --readme} writes the tables again. */
    @Test
    void pagesAgreeWithTheKeptSet() throws IOException {
        ReadmeTables kept = ReadmeTables.of(ROOT.resolve("perf/results"));

        for (Path page : ReadmeTables.PAGES) {
            String text = Files.readString(ROOT.resolve(page));
            assertThat(text).as("%s", page).contains("<!-- measured: ").isEqualTo(kept.fill(text));
        }
    }

    @Test
    void theKeptSetIsSmall() throws IOException {
        try (Stream<Path> files = Files.walk(ROOT.resolve("perf/results"))) {
            long bytes = files.filter(Files::isRegularFile)
                    .filter(file -> file.toString().contains("/2"))
                    .mapToLong(file -> file.toFile().length())
                    .sum();
            assertThat(bytes).isLessThanOrEqualTo(PerfReport.MAX_KEPT_BYTES);
        }
    }

    @Test
    void fillsATable() throws IOException {
        String page = ReadmeTables.of(results).fill("""
                        before
                        <!-- measured: table hang -->
                        | old |
                        <!-- end -->
                        ![plot](results/4-cores/plots/a.png)
                        """);

        assertThat(page).isEqualTo("""
                        before
                        <!-- measured: table hang -->
                        | `perf/scenario hang`, 2026-01-02 | promised | measured | holds |
                        |---|---|---|---|
                        | answered | at least 97 % | 98.5 % | yes |
                        | refused, a\\|b | at most 0 | 2 | **no** |
                        | (another proxy) |  | 90 % |  |
                        <!-- end -->
                        ![plot](results/2-cores/plots/a.png)
                        """);
    }

    @Test
    void fillsRowsOfSeveralTables() throws IOException {
        String page = ReadmeTables.of(results)
                .fill("<!-- measured: rows hang: answered; bench: forwarded -->\n<!-- end -->\n");

        assertThat(page)
                .contains(
                        "| `hang`: answered | at least 97 % | 98.5 % | yes |\n",
                        "| `bench`: forwarded | at least 0.75 times | 0.9 times | yes |\n<!-- end -->");
    }

    @Test
    void fillsTheTablesOfAllScenarios() throws IOException {
        PromiseTable limit = new PromiseTable();
        limit.atLeast("goodput", 97, 99, "%");
        keep("limit", limit);

        String page = ReadmeTables.of(results).fill("<!-- measured: scenarios -->\n<!-- end -->\n");

        assertThat(page)
                .containsSubsequence("| `perf/scenario hang`, 2026-01-02 |", "| `perf/scenario limit`, 2026-01-02 |")
                .contains("| (another proxy)", "| goodput | at least 97 % | 99 % | yes |")
                .doesNotContain("bench");
    }

    @Test
    void saysWhatWasMeasuredAtWhichCommit() throws IOException {
        PromiseTable reload = new PromiseTable();
        reload.show("lost", "0");
        new KeptTable("reload", "perf/reload", "", "2026-01-01", "", reload.rows())
                .write(set.resolve(KeptTable.DIRECTORY));
        Path run = Files.createDirectories(set.resolve("soak"));
        Files.write(
                run.resolve("run.properties"),
                List.of(
                        "experiment=soak",
                        "mode=quick",
                        "gateway.commit=abc",
                        "began=2026-01-02T10:00:00Z",
                        "host=a",
                        "cpus.host=2"));

        String page = ReadmeTables.of(results).fill("<!-- measured: origin -->\n<!-- end -->\n");

        assertThat(page).isEqualTo("""
                        <!-- measured: origin -->
                        - 2026-01-01, commit not recorded: `perf/reload`
                        - 2026-01-02, commit abc, a, 2 processors: `perf/run soak --quick`
                        - 2026-01-02, commit abc, a, machine: `perf/scenario bench`, `perf/scenario hang`
                        <!-- end -->
                        """);
    }

    /** The words follow the set, so that they cannot name panels that the plot does not have. */
    @Test
    void namesThePanelsOfTheKeptPlot() throws IOException {
        Path run = Files.createDirectories(set.resolve("containment"));
        Files.write(
                run.resolve("facts.csv"),
                List.of(
                        "name,value,unit",
                        "protected.hang.neighbour.success,100,%",
                        "protected.slow.neighbour.success,100,%",
                        "threads.hang.neighbour.success,50,%"));

        assertThat(ReadmeTables.of(results).fill("<!-- measured: fronts -->\n<!-- end -->\n"))
                .contains(
                        "From top to bottom: behind the gateway with its protections; behind Spring MVC with 200 threads.\n"
                                + "<!-- end -->");
    }

    @Test
    void comparesTheNeighboursOfContainment() throws IOException {
        Path run = Files.createDirectories(set.resolve("containment"));
        Files.write(
                run.resolve("facts.csv"),
                List.of(
                        "name,value,unit",
                        "protected.hang.neighbour.success,100,%",
                        "protected.hang.neighbour.p99,30.4,ms",
                        "protected.hang.neighbour.p99.calm,20,ms",
                        "threads.slow.neighbour.success,51.2,%",
                        "threads.slow.neighbour.p99,5135,ms",
                        "threads.slow.neighbour.p99.calm,31,ms"));

        String page = ReadmeTables.of(results).fill("<!-- measured: neighbour -->\n<!-- end -->\n");

        assertThat(page)
                .contains(
                        "| answered, p99 (before the fault) | protected | threads |",
                        "| hang | 100.0 %, 30 ms (20 ms) | – |",
                        "| slow | – | 51.2 %, 5135 ms (31 ms) |");
    }

    @Test
    void namesWhatIsMissing() throws IOException {
        ReadmeTables tables = ReadmeTables.of(results);

        assertThatThrownBy(() -> tables.fill("<!-- measured: table reload -->\n<!-- end -->"))
                .isInstanceOf(InvalidFileException.class)
                .hasMessageContaining("no reload.csv");
        assertThatThrownBy(() -> tables.fill("<!-- measured: rows hang: served -->\n<!-- end -->"))
                .hasMessageContaining("hang.csv: no row \"served\"");
        assertThatThrownBy(() -> tables.fill("<!-- measured: figures hang -->\n<!-- end -->"))
                .hasMessageContaining("(expected: table, rows, neighbour, scenarios, origin or fronts)");
        Files.createDirectories(results.resolve("4-cores"));
        assertThatThrownBy(() -> ReadmeTables.of(results)).hasMessageContaining("(expected: one)");
    }

    @Test
    void readsAFileOfJmh() {
        PromiseTable table = JmhTable.parse(String.join(
                "\n",
                "\"Benchmark\",\"Mode\",\"Threads\",\"Samples\",\"Score\",\"Score Error (99.9%)\",\"Unit\","
                        + "\"Param: kind\"",
                "\"io.weir.perf.jmh.BulkheadBenchmark.take\",\"thrpt\",4,15,86.215,2.03,\"ops/us\",weir",
                "\"io.weir.perf.jmh.TokenBenchmark.cached\",\"thrpt\",1,15,1.5,NaN,\"ops/us\","));

        assertThat(table.rows())
                .extracting(PromiseTable.Promise::text, PromiseTable.Promise::measured)
                .containsExactly(
                        tuple("BulkheadBenchmark.take, threads: 4, kind: weir", "86.2 ± 2.0 ops/us"),
                        tuple("TokenBenchmark.cached, threads: 1", "1.50 ± NaN ops/us"));
    }
}
