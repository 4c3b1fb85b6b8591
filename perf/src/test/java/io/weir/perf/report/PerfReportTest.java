package io.weir.perf.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.result.OutcomeKind;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.SampleRun;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.util.FileSystemUtils;

class PerfReportTest {

    private static final Pattern REFERENCE = Pattern.compile("(?:href|src)=\"([^\"]*)\"");

    /** The report of one sample run, for the tests that only read it. */
    @TempDir
    static Path written;

    private static Path writtenRun = Path.of("");

    @TempDir
    Path results;

    @BeforeAll
    static void write() throws IOException {
        writtenRun = SampleRun.overTime(written.resolve("made-up/quick")).directory();
        Files.createDirectories(writtenRun.resolve("gatling/hang 1"));
        Files.writeString(writtenRun.resolve("gatling/hang 1/index.html"), "Gatling's own");

        assertThat(PerfReport.write(written)).isEmpty();
    }

    @Test
    void plotsRunOverTime() throws IOException {
        assertThat(plots(writtenRun))
                .containsExactlyInAnyOrder(
                        "requests-GET-orders.png",
                        "latency-GET-orders.png",
                        "in-flight.png",
                        "breaker.png",
                        "weir_permits_used.png",
                        "cpu.png",
                        "memory.png",
                        "connections.png",
                        "threads.png");
        assertThat(colours(writtenRun.resolve("plots/requests-GET-orders.png")))
                .contains(OutcomeKind.ANSWERED.colour().getRGB());
    }

    @Test
    void shadesFaultWithTheNameOfAnOutcome() throws IOException {
        Path run = SampleRun.overTime(results.resolve("made-up/quick"))
                .with("spans.csv", "step,label,from_ms,to_ms", "2,bulkhead-full,2200,3200")
                .without("processes.csv", "meters.csv")
                .directory();

        assertThat(PerfReport.write(results)).isEmpty();

        assertThat(plots(run)).contains("requests-GET-orders.png", "latency-GET-orders.png");
    }

    @Test
    void comparesProductsSideBySide() throws IOException {
        Path run = SampleRun.overTime(results.resolve("made-up/quick"))
                .with("facts.csv", "name,value,unit", "one.rate,25,1/s", "other.rate,50,1/s", "seed,7,")
                .without("processes.csv", "meters.csv")
                .directory();
        Files.writeString(
                run.resolve("run.properties"),
                Files.readString(run.resolve("run.properties")) + "\ncompare=one,other\nnotes=A third is <missing>.\n");

        assertThat(PerfReport.write(results)).isEmpty();

        assertThat(run.resolve("index.html"))
                .content()
                .contains(
                        "<tr><th>figure</th><th>one</th><th>other</th><th>unit</th></tr>",
                        "<td><code>rate</code></td><td class=\"number\">25</td><td class=\"number\">50</td><td>1/s</td>",
                        "<code>seed</code>",
                        "A third is &lt;missing&gt;.")
                .doesNotContain("<code>one.rate</code>");
        assertThat(plots(run)).contains("side-by-side-rate.png");
    }

    @Test
    void comparesStepsOfRunWithoutFaults() throws IOException {
        Path run = SampleRun.overTime(results.resolve("made-up/quick"))
                .without("spans.csv", "meters.csv")
                .directory();

        assertThat(PerfReport.write(results)).isEmpty();

        assertThat(plots(run))
                .contains("outcomes-by-step.png", "latency-by-step.png", "throughput-by-step.png", "cpu-by-step.png");
        assertThat(colours(run.resolve("plots/outcomes-by-step.png")))
                .contains(
                        OutcomeKind.ANSWERED.colour().getRGB(),
                        OutcomeKind.SHED.colour().getRGB());
    }

    @Test
    void plotsSeriesOverItsNumber() throws IOException {
        Path run = SampleRun.overX(results.resolve("made-up/quick")).directory();

        assertThat(PerfReport.write(results)).isEmpty();

        assertThat(plots(run))
                .containsExactlyInAnyOrder("throughput.png", "p50-ms.png", "p99-ms.png", "success-percent.png");
    }

    @Test
    void showsRequestsByNameAndProcess() throws IOException {
        Path run = SampleRun.overTime(results.resolve("made-up/quick"))
                .with(
                        "requests.csv",
                        "step,at_ms,micros,request,outcome",
                        "1,100,4000,neighbour,success",
                        "1,200,900000,sick,timeout")
                .without("meters.csv")
                .directory();

        assertThat(PerfReport.write(results)).isEmpty();

        assertThat(run.resolve("index.html"))
                .content()
                .contains(
                        "<td>calm, neighbour</td><td class=\"number\">1</td>",
                        "<td>calm, sick</td><td class=\"number\">1</td>",
                        "<td>calm, gateway</td><td class=\"number\">50</td><td class=\"number\">500000</td>",
                        "<td>fault</td><td class=\"number\">0</td>");
    }

    @Test
    void showsTheLimitsFirstAndEscapesText() throws IOException {
        String page = Files.readString(writtenRun.resolve("index.html"));
        assertThat(page.substring(page.indexOf("<body>") + 6).strip())
                .startsWith("<p class=\"limit\">Made up: no process had any limit.</p>");
        assertThat(page).contains("Is this &lt;made up&gt;?", "<code>perf/run made-up</code>", "cpus.granted");
    }

    @Test
    void comparesNothingOfInvalidRun() throws IOException {
        Path run = SampleRun.withoutRequests(results.resolve("made-up/quick")).directory();
        Files.writeString(
                run.resolve("run.properties"),
                Files.readString(run.resolve("run.properties"))
                        + "\nvalid=false\ninvalid.why=the generator was late\n");

        assertThat(PerfReport.write(results)).isEmpty();

        assertThat(run.resolve("index.html"))
                .content()
                .contains("This run is not a valid result:</strong> the generator was late");
        assertThat(results.resolve("index.html")).content().contains("not a valid result: the generator was late");
    }

    @Test
    void keepsOnlySmallFiles() throws IOException {
        Path kept = results.resolve("2-cores");
        Files.createDirectories(kept.resolve("made-up"));
        Files.writeString(kept.resolve("made-up/of-an-earlier-run.csv"), "old");

        assertThat(PerfReport.run("--keep", kept.toString(), written.toString()))
                .isZero();

        try (Stream<Path> files = Files.list(kept.resolve("made-up"))) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrder(
                            "index.html",
                            "plots",
                            "run.properties",
                            "steps.csv",
                            "spans.csv",
                            "facts.csv",
                            "assertions.csv",
                            "figures.csv.gz",
                            "requests.csv.gz",
                            "processes.csv.gz",
                            "meters.csv.gz");
        }
        assertThat(kept.resolve("index.html")).content().contains("made-up/index.html");
        assertThat(kept.resolve("made-up/index.html"))
                .content()
                .contains("Is this &lt;made up&gt;?")
                .contains("requests.csv.gz")
                .doesNotContain("gatling/", "weir_permits_used.png");
        assertThat(kept.resolve("README.md"))
                .content()
                .contains("## made-up (quick)", "Is this <made up>?", "Assertions that hold: 1 of 2.");
    }

    /** Each plot of the run itself, apart from the meters, is drawn again from what is kept. */
    @Test
    void drawsTheSamePlotsAgainFromWhatIsKept() throws IOException {
        Path kept = results.resolve("2-cores");
        PerfReport.run("--keep", kept.toString(), written.toString());
        FileSystemUtils.deleteRecursively(kept.resolve("made-up/plots"));

        assertThat(PerfReport.run(kept.toString())).isZero();

        Set<String> again = plots(kept.resolve("made-up"));
        assertThat(plots(writtenRun)).containsAll(again).hasSize(again.size() + 1);
        for (String plot : again) {
            assertThat(kept.resolve("made-up/plots").resolve(plot))
                    .hasSameBinaryContentAs(writtenRun.resolve("plots").resolve(plot));
        }
    }

    @Test
    void leavesAKeptSetAloneUnlessItIsNamed() throws IOException {
        SampleRun.withoutRequests(results.resolve("made-up/quick"));
        Path kept = results.resolve("2-cores");
        PerfReport.run("--keep", kept.toString(), results.toString());
        Files.delete(kept.resolve("made-up/index.html"));

        assertThat(PerfReport.write(results)).isEmpty();

        assertThat(kept.resolve("made-up/index.html")).doesNotExist();
        assertThat(results.resolve("index.html")).content().doesNotContain("2-cores");
    }

    @Test
    void drawsFrontsAsPanelsOnTheSameAxes() throws IOException {
        Path run = SampleRun.overTime(results.resolve("made-up/quick"))
                .with("steps.csv", "step,label,x,began_ms,ended_ms", "1,one: hang,,0,2000", "2,two: hang,,2000,4000")
                .append("run.properties", "panels=one,two")
                .without("processes.csv", "meters.csv")
                .directory();

        assertThat(PerfReport.write(results)).isEmpty();

        assertThat(plots(run)).contains("panels.png").doesNotContain("requests-GET-orders.png");
        assertThat(colours(run.resolve("plots/panels.png")))
                .contains(
                        OutcomeKind.ANSWERED.colour().getRGB(),
                        OutcomeKind.SHED.colour().getRGB());
    }

    @Test
    void showsTheChecklistAndDoesNotCountClaimsOfARunThatMissesALine() throws IOException {
        Path run = SampleRun.reviewed(results.resolve("made-up/quick"), "calm/p90-ms", "900", "ms", "")
                .without("meters.csv")
                .directory();
        PerfReport.write(results);
        assertThat(results.resolve("index.html")).content().contains("1 of 1");

        Files.delete(run.resolve("processes.csv"));
        assertThat(PerfReport.write(results)).isEmpty();

        assertThat(results.resolve("index.html")).content().contains("0 of 1");
        assertThat(run.resolve("index.html"))
                .content()
                .contains(
                        "<td class=\"not-asserted\">not asserted</td>",
                        "<td>no process of a load generator was sampled</td><td class=\"no\">no</td>",
                        "<td>20.0 s</td><td class=\"yes\">yes</td>");
    }

    /** The page for readers names each line. */
    @Test
    void readmeHasTheChecklist() throws IOException {
        RunResult run = SampleRun.reviewed(results.resolve("made-up/quick"), "calm/p90-ms", "900", "ms", "")
                .append("run.properties", "compare=one,other")
                .read();

        String readme = Files.readString(Path.of("README.md")).replaceAll("\\s+", " ");

        assertThat(Checklist.of(run).lines())
                .hasSize(8)
                .allSatisfy(line -> assertThat(readme).contains("- " + line.text()));
    }

    @Test
    void keepsNoInvalidRun() throws IOException {
        Path run = SampleRun.withoutRequests(results.resolve("made-up/quick")).directory();
        Files.writeString(
                run.resolve("run.properties"),
                Files.readString(run.resolve("run.properties"))
                        + "\nvalid=false\ninvalid.why=the generator was late\n");
        Path kept = Files.createDirectories(results.resolve("2-cores"));

        assertThat(PerfReport.run("--keep", kept.toString(), results.toString()))
                .isEqualTo(1);

        assertThat(kept.resolve("made-up")).doesNotExist();
    }

    @Test
    void linksOnlyExistingFiles() throws IOException {
        for (Path page : new Path[] {written.resolve("index.html"), writtenRun.resolve("index.html")}) {
            Set<String> references = new TreeSet<>();
            Matcher reference = REFERENCE.matcher(Files.readString(page));
            while (reference.find()) {
                references.add(reference.group(1));
            }
            assertThat(references).anyMatch(one -> one.endsWith("gatling/hang%201/index.html"));
            assertThat(references)
                    .allSatisfy(one -> assertThat(page.resolveSibling(one.replace("%20", " ")))
                            .exists());
        }
    }

    @Test
    void writesTheOtherPagesIfOneRunIsInvalid() throws IOException {
        SampleRun wrong =
                SampleRun.withoutRequests(results.resolve("wrong/quick")).with("steps.csv", "step,label,x,began_ms");
        Path right = SampleRun.withoutRequests(results.resolve("right/quick")).directory();

        assertThat(PerfReport.write(results)).singleElement().asString().contains("wrong/quick/steps.csv:1: ");

        assertThat(right.resolve("index.html")).exists();
        assertThat(wrong.directory().resolve("index.html")).doesNotExist();
    }

    @Test
    void writesTheSamePageFromTheSameFiles() throws IOException {
        String page = Files.readString(writtenRun.resolve("index.html"));
        byte[] plot = Files.readAllBytes(writtenRun.resolve("plots/in-flight.png"));

        PerfReport.write(written);

        assertThat(writtenRun.resolve("index.html")).hasContent(page);
        assertThat(writtenRun.resolve("plots/in-flight.png")).hasBinaryContent(plot);
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "1, 1", "0.98, 0.980", "109.4, 109", "34.63, 34.6", "0.00012, 0.000120", "12345.6, 12346"})
    void showsThreeSignificantDigits(double value, String text) {
        assertThat(ReportPages.number(java.util.OptionalDouble.of(value))).isEqualTo(text);
    }

    private static Set<String> plots(Path run) throws IOException {
        try (Stream<Path> files = Files.list(run.resolve("plots"))) {
            return files.map(file -> file.getFileName().toString()).collect(Collectors.toSet());
        }
    }

    private static Set<Integer> colours(Path file) throws IOException {
        BufferedImage image = ImageIO.read(file.toFile());
        int[] pixels = image.getRGB(0, 0, image.getWidth(), image.getHeight(), null, 0, image.getWidth());
        return java.util.Arrays.stream(pixels).boxed().collect(Collectors.toSet());
    }
}
