package io.weir.perf.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.weir.perf.result.InvalidFileException;
import io.weir.perf.result.RunFigures;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.SampleRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClaimsTest {

    private static final String CLAIMS = "experiment,name,claimed,unit,tolerance,source";
    private static final String WHYS = "experiment,name,condition,why";

    @TempDir
    Path temporary;

    private RunResult run;

    @BeforeEach
    void readRun() throws IOException {
        run = SampleRun.overTime(temporary).read();
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
    void agreesWithinTheTolerance(String name, String claimed, String tolerance, Claims.Agreement agreement)
            throws IOException {
        Claims claims = claims(List.of("made-up,%s,%s,ms,%s,a book".formatted(name, claimed, tolerance)), List.of());

        assertThat(claims.compare(run, RunFigures.of(run)))
                .extracting(Claims.ComparedClaim::agreement)
                .containsExactly(agreement);
    }

    @ParameterizedTest
    @CsvSource({
        "cpus.granted < cpus.asked, true",
        "cpus.granted >= cpus.asked, false",
        "mode = quick, true",
        "mode = full, false",
        "calm/p90-ms > 800, true",
        "calm/p90-ms > 800 and mode = full, false",
        "calm/p90-ms > 800 and mode = quick, true",
        "unheard-of > 1, false"
    })
    void explainsDisagreementOnlyIfTheConditionHolds(String condition, boolean explained) throws IOException {
        Claims claims = claims(
                List.of("made-up,calm/p90-ms,1,ms,,a book"),
                List.of("made-up,calm/p90-ms,%s,because".formatted(condition), "other,calm/p90-ms,mode = quick,no"));

        assertThat(claims.compare(run, RunFigures.of(run)))
                .extracting(Claims.ComparedClaim::explanation)
                .containsExactly(explained ? "because" : "");
    }

    @Test
    void explainsNoAgreement() throws IOException {
        Claims claims =
                claims(List.of("made-up,calm/p90-ms,900,ms,,a book"), List.of("made-up,*,mode = quick,because"));

        assertThat(claims.compare(run, RunFigures.of(run)))
                .extracting(Claims.ComparedClaim::explanation)
                .containsExactly("");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "made-up,calm/p90-ms,900,ms,some,a book | tolerance: some (expected: ",
                "made-up,calm/p90-ms,,ms,5%,a book | claimed:  (expected: a number",
                "made-up,calm/p90-ms,9 or so,ms,5%,a book | claimed: 9 or so (expected: a number",
                "made-up,calm/p90-ms,9,ms,5%, | source:  (expected: a name)"
            })
    void reportsInvalidClaim(String line, String message) {
        assertThatThrownBy(() -> claims(List.of(line), List.of()))
                .isInstanceOf(InvalidFileException.class)
                .hasMessageContaining("claims.csv:2: " + message);
    }

    @Test
    void reportsInvalidExplanation() {
        assertThatThrownBy(() -> claims(List.of(), List.of("made-up,*,always,because")))
                .isInstanceOf(InvalidFileException.class)
                .hasMessageContaining("whys.csv:2: condition: always (expected: ");
    }

    @Test
    void shippedClaimsDisagreeWithLowGoodput() throws IOException {
        RunResult overload = SampleRun.overTime(temporary)
                .with(
                        "run.properties",
                        "experiment=metastable",
                        "mode=quick",
                        "command=perf/run metastable",
                        "limit.sentence=Made up.",
                        "generator.own-cores=false")
                .with(
                        "facts.csv",
                        "name,value,unit",
                        "direct.back,0,",
                        "gateway.back,1,",
                        "direct.overload.goodput,4.3,%",
                        "gateway.overload.goodput,63.9,%")
                .read();

        assertThat(Claims.shipped().compare(overload, RunFigures.of(overload)))
                .extracting(
                        Claims.ComparedClaim::name,
                        Claims.ComparedClaim::agreement,
                        line -> line.explanation().isEmpty())
                .containsExactly(
                        tuple("direct.back", Claims.Agreement.YES, true),
                        tuple("gateway.back", Claims.Agreement.YES, true),
                        tuple("direct.overload.goodput", Claims.Agreement.YES, true),
                        tuple("gateway.overload.goodput", Claims.Agreement.NO, false));
    }

    @Test
    void shippedClaimsAreValid() {
        assertThat(Claims.shipped().compare(run, RunFigures.of(run))).isEmpty();
    }

    private Claims claims(List<String> claims, List<String> whys) throws IOException {
        Files.writeString(temporary.resolve("claims.csv"), CLAIMS + '\n' + String.join("\n", claims) + '\n');
        Files.writeString(temporary.resolve("whys.csv"), WHYS + '\n' + String.join("\n", whys) + '\n');
        return Claims.in(temporary);
    }
}
