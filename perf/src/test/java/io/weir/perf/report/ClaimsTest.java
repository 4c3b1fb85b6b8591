package io.weir.perf.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.weir.perf.report.Claims.Agreement;
import io.weir.perf.report.Claims.ComparedClaim;
import io.weir.perf.result.Claim;
import io.weir.perf.result.InvalidFileException;
import io.weir.perf.result.RunFigures;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.SampleRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClaimsTest {

    @TempDir
    Path temporary;

    private static List<ComparedClaim> compare(SampleRun sample) {
        RunResult run = sample.read();
        return Claims.compare(run, RunFigures.of(run), Checklist.of(run));
    }

    @ParameterizedTest
    @CsvSource({
        "calm/p90-ms, 900, '', YES",
        "calm/p90-ms, 899, '', NO",
        "calm/p90-ms, 1000, 10%, YES",
        "calm/p90-ms, 1001, 10%, NO",
        "calm/p90-ms, 905, 5, YES",
        "calm/p90-ms, 905, 4, NO",
        "calm/p90-ms, <900, '', NO",
        "calm/p90-ms, <=900, '', YES",
        "calm/p90-ms, <890, 2%, YES",
        "calm/p90-ms, >=910, 10, YES",
        "calm/p90-ms, >910, 5, NO",
        "fault/p99-ms, <calm/p99-ms, '', YES",
        "calm/p99-ms, <fault/p99-ms, '', NO",
        "calm/p99-ms, <storm/p99-ms, '', NOT_MEASURED",
        "storm/p99-ms, 5, '', NOT_MEASURED"
    })
    void agreesWithinTheTolerance(String name, String claimed, String tolerance, Agreement agreement)
            throws IOException {
        assertThat(compare(SampleRun.reviewed(temporary, name, claimed, "ms", tolerance)))
                .extracting(ComparedClaim::agreement)
                .containsExactly(agreement);
    }

    /** Each run misses one line. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "run.properties | load.model=closed | the load is open",
                "run.properties | load.model= | the load is open",
                "run.properties | warm-up.seconds=4.0 | after a warm-up",
                "run.properties | compare=one,other | the same limits",
                "run.properties | panels=one,other | the same limits",
                "facts.csv | generator.load.delay.p99,51,ms | the generator was not late",
                "facts.csv | generator.load.busy,81,% | the generator was not saturated",
                "steps.csv | 3,unseen,,4000,5000 | the raw data of each step are kept"
            })
    void doesNotSayThatARunAgreesWhichMissesALine(String file, String line, String missed) throws IOException {
        SampleRun run = SampleRun.reviewed(temporary, "calm/p90-ms", "900", "ms", "");
        assertThat(compare(run)).extracting(ComparedClaim::agreement).containsExactly(Agreement.YES);

        assertThat(compare(run.append(file, line))).singleElement().satisfies(compared -> {
            assertThat(compared.agreement()).isEqualTo(Agreement.NOT_ASSERTED);
            assertThat(compared.reason()).startsWith("the checklist misses: ").contains(missed);
        });
    }

    /** Nothing is compared with a warm-up. */
    @Test
    void acceptsAWarmUpWithoutRawData() throws IOException {
        SampleRun run = SampleRun.reviewed(temporary, "calm/p90-ms", "900", "ms", "");

        assertThat(compare(run.append("steps.csv", "3,warm-up,,4000,5000")))
                .extracting(ComparedClaim::agreement)
                .containsExactly(Agreement.YES);
    }

    @Test
    void doesNotSayThatARunAgreesWithoutSamplesOfItsGenerator() throws IOException {
        SampleRun run = SampleRun.reviewed(temporary, "calm/p90-ms", "900", "ms", "");
        Files.delete(temporary.resolve("processes.csv"));

        assertThat(compare(run)).extracting(ComparedClaim::agreement).containsExactly(Agreement.NOT_ASSERTED);
    }

    /** A tolerance that was chosen after the result proves nothing. */
    @Test
    void doesNotSayThatARunAgreesWhichRecordedNoClaims() throws IOException {
        SampleRun run = SampleRun.reviewed(temporary, "calm/p90-ms", "900", "ms", "")
                .append("run.properties", "experiment=metastable")
                .append("facts.csv", "gateway.back,1,");
        Files.delete(temporary.resolve("claims.csv"));

        assertThat(compare(run))
                .filteredOn(compared -> compared.name().equals("gateway.back"))
                .singleElement()
                .satisfies(compared -> {
                    assertThat(compared.agreement()).isEqualTo(Agreement.NOT_ASSERTED);
                    assertThat(compared.reason()).endsWith("the tolerances were stated before the run");
                });
    }

    @Test
    void acceptsAFixedNumberOfCallersWhichIsTheQuestion() throws IOException {
        SampleRun run = SampleRun.reviewed(temporary, "calm/p90-ms", "900", "ms", "")
                .append("run.properties", "load.model=closed", "load.question=callers");

        assertThat(compare(run)).extracting(ComparedClaim::agreement).containsExactly(Agreement.YES);
    }

    /** The process uses half a core in the step, and the load generator 0.3. */
    @ParameterizedTest
    @CsvSource({
        "cpus.host=4, calm/p90-ms, not explained",
        "cpus.host=4, calm.p90, not explained",
        "cpus.host=1, calm/p90-ms, not explained",
        "cpus.granted=1, calm/p90-ms, not explained",
        "cpus.host=0, calm/p90-ms, not explained"
    })
    void doesNotExplainWhatTheRunHasNotMeasured(String property, String figure, String reason) throws IOException {
        SampleRun run = SampleRun.reviewed(temporary, figure, "1", "ms", "")
                .append("facts.csv", "calm.p90,900,ms")
                .append("run.properties", property);

        assertThat(compare(run))
                .extracting(ComparedClaim::agreement, ComparedClaim::reason)
                .containsExactly(tuple(Agreement.NO, reason));
    }

    @ParameterizedTest
    @CsvSource({
        "cpus.host=1, calm/p90-ms, all processors were 140 % busy",
        "cpus.host=1, calm.p90, all processors were 140 % busy",
        "cpus.granted=1, calm/p90-ms, gateway used 110 % of its processors",
        "cpus.host=1, recovery, not explained"
    })
    void namesTheProcessorsThatWereBusyInTheStep(String property, String figure, String reason) throws IOException {
        SampleRun run = SampleRun.reviewed(temporary, figure, "1", "ms", "")
                .append("facts.csv", "calm.p90,900,ms")
                .append("processes.csv", "1,1500,gateway,2650000,1,1,1")
                .append("run.properties", property);

        assertThat(compare(run)).extracting(ComparedClaim::reason).containsExactly(reason);
    }

    @Test
    void saysThatTheLoadWasTheLimit() throws IOException {
        SampleRun run = SampleRun.reviewed(temporary, "weir.forward.rate", ">100", "1/s", "")
                .append("facts.csv", "weir.forward.rate.at-least,90,1/s", "weir.forward.busy,60,%");

        assertThat(compare(run))
                .extracting(ComparedClaim::agreement, ComparedClaim::reason)
                .containsExactly(tuple(
                        Agreement.NOT_MEASURED, "the load was the limit: at least 90, with 60 % of the cores busy"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "calm/p90-ms,900,ms,some,a book | tolerance: some (expected: ",
                "calm/p90-ms,,ms,5%,a book | claimed:  (expected: a number",
                "calm/p90-ms,9 or so,ms,5%,a book | claimed: 9 or so (expected: a number",
                "calm/p90-ms,9,ms,5%, | source:  (expected: a name)"
            })
    void reportsInvalidClaim(String line, String message) throws IOException {
        SampleRun run = SampleRun.overTime(temporary)
                .with("claims.csv", "experiment,name,claimed,unit,tolerance,source", "made-up," + line);

        assertThatThrownBy(run::read)
                .isInstanceOf(InvalidFileException.class)
                .hasMessageContaining("claims.csv:2: " + message);
    }

    @ParameterizedTest
    @CsvSource({"containment", "metastable", "littles-law", "peers", "priorities", "tenants"})
    void shippedClaimsAreValid(String experiment) {
        assertThat(Claim.shipped(experiment)).isNotEmpty();
    }
}
