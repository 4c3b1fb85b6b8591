package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.LimitGrid.Row;
import io.weir.limit.LimitSimulation.Kind;
import io.weir.limit.LimitSteps.Shares;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The real limit and the real queue against the best fixed limit, in virtual time. A part of the grid by
 * default; all of it, for some minutes, with {@code -Dgrid=full}; with {@code -Dgrid=write} the page is
 * written too.
 */
@Tag("full")
@Tag("simulation")
class LimitGridTest {

    private static final Path PAGE = Path.of("../perf/results/limit-grid.md");

    @Test
    void answersNearlyAsMuchAsTheBestFixedLimit() throws IOException {
        List<Row> rows = (LimitGrid.isFull() ? LimitGrid.all() : LimitGrid.part())
                .stream().map(LimitGrid::measure).toList();

        System.out.println(LimitGrid.summary(rows));
        if (LimitGrid.isWritten()) {
            Files.writeString(PAGE, page(rows));
        }
        List<Row> asserted =
                rows.stream().filter(row -> row.cell().isAsserted()).toList();
        assertThat(asserted).hasSizeGreaterThan(20);
        assertThat(asserted.stream().mapToDouble(Row::overload).average().orElse(0))
                .isGreaterThanOrEqualTo(.95);
        assertThat(asserted).allSatisfy(row -> assertThat(row.overload()).isGreaterThanOrEqualTo(.80));
        assertThat(asserted).allSatisfy(row -> assertThat(row.after()).isGreaterThanOrEqualTo(.85));
    }

    /** Wanted of each step: .97, .995 from 5 s on, and everything after the way back. */
    @Test
    void followsABackendThatBecomesSlowerWithoutAQueue() {
        List<Shares> all = LimitSteps.all().stream()
                .map(step -> step.shares(LimitGrid.SEED))
                .toList();

        List<Shares> missed = all.stream().filter(each -> !each.isWanted()).toList();
        missed.forEach(System.out::println);
        assertThat(all).hasSizeGreaterThan(180);
        assertThat(all.stream().mapToDouble(Shares::slow).average().orElse(0)).isGreaterThanOrEqualTo(.997);
        assertThat(all.stream().mapToDouble(Shares::settled).average().orElse(0))
                .isGreaterThanOrEqualTo(.998);
        assertThat(all).allSatisfy(each -> assertThat(each.back()).isGreaterThanOrEqualTo(.995));
        assertThat(missed).hasSizeLessThan(all.size() / 30);
    }

    @Test
    void usesTheCapacityOfABackendThatLosesOrGainsWorkers() {
        List<Double> goodputs = LimitSteps.queues().stream()
                .map(each -> each.goodput(LimitGrid.SEED))
                .toList();

        assertThat(goodputs).allSatisfy(each -> assertThat(each).isGreaterThanOrEqualTo(.85));
        assertThat(goodputs.stream().mapToDouble(each -> each).average().orElse(0))
                .isGreaterThanOrEqualTo(.98);
    }

    /** {@code -Dgrid=write} writes it. */
    @Test
    void theKeptPageHasTheWholeGridAndItsBoundsHold() throws IOException {
        String kept = Files.readString(PAGE);

        Matcher asserted = Pattern.compile(
                        "\\| at least 10 workers, no collapse \\| 144 \\| ([0-9.]+) \\| ([0-9.]+) \\|")
                .matcher(kept);
        assertThat(asserted.find()).isTrue();
        assertThat(Double.parseDouble(asserted.group(1))).as("mean").isGreaterThanOrEqualTo(.95);
        assertThat(Double.parseDouble(asserted.group(2))).as("worst").isGreaterThanOrEqualTo(.80);
        assertThat(LimitGrid.all())
                .allSatisfy(cell ->
                        assertThat(kept).contains("| %d x %.0f ms |".formatted(cell.workers(), 1e3 * cell.service())));
        assertThat(LimitCases.all()).allSatisfy(each -> assertThat(kept).contains("\n| " + each + " | "));
    }

    private static String page(List<Row> rows) {
        StringBuilder text = new StringBuilder("""
                # The adaptive limit against the best fixed one, in simulation

                Written by `LimitGridTest` with `-Dgrid=write` (`mvn -pl gateway test -Dtest=LimitGridTest -Dgrid=write`): the gateway's own limit and queue
                in virtual time, in front of simulated backends. Each cell: 6 s at 0.75 times the backend's capacity, 15 s at 4 times, 12 s
                at 0.75 times (shorter above 3000 calls/s), deadline 800 ms; the backend goes on with abandoned calls. The best fixed limit
                is the best of 1, 1.2, 1.5 and 2 calls for each worker, with the same queue. Figures are those of the adaptive limit (at its
                defaults: `min` 2, `max` 1000, `initial` 8) divided by those of the best fixed limit, medians of three seeds.

                """);
        text.append(LimitGrid.summary(rows));
        text.append("""

                *Overload* and *after*: answers in time. *Refused when calm*: the share of the calls before and after the overload, less
                that of the fixed limit; it includes the start from `initial`. *Latency*: of the backend's answers in the overload.

                ## Where a fixed limit, or another `initial`, is better
                - **One to four workers of 200 ms**: the first burst of `initial` calls fills the backend beyond half of the deadline before
                  anything is measured. Set `initial` to the number of workers, or a fixed limit, or a longer deadline.
                - **Collapse** (throughput falls with each call beyond 1.5 for each worker): a limit that looks for its bounds must exceed
                  them now and then. With one worker nothing lies between too few calls and too many. Set a fixed limit, or `max`.
                - **300 workers of 200 ms**: from `initial` to the limit takes more than a second, in which calls are refused. Set `initial`.

                ## Cases
                Figures of single runs, medians of five seeds; service times are constant.

                | case | wanted | measured | |
                |---|---|---|---|
                """);
        for (LimitCases.Case each : LimitCases.all()) {
            double measured = each.median(LimitCases.SEEDS);
            text.append(String.format(
                    Locale.ROOT,
                    "| %s | %s %s | %.3f | %s |%n",
                    each,
                    each.atMost() ? "at most" : "at least",
                    each.wanted(),
                    measured,
                    each.isWanted(measured) ? "" : "missed"));
        }
        for (Kind kind : Kind.values()) {
            text.append("\n## ")
                    .append(Character.toUpperCase(LimitGrid.name(kind).charAt(0)))
                    .append(LimitGrid.name(kind).substring(1))
                    .append("\nGoodput in the overload (mean limit / best fixed limit).\n\n")
                    .append(LimitGrid.table(kind, rows));
        }
        return text.toString();
    }
}
