package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.ChaosOptions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ChaosJudgeTest {

    private static final long DEADLINE_MILLIS = 800;
    private static final ChaosOptions OPTIONS = new ChaosOptions(
            "orders", "/orders", "search", "/search", List.of("hang"), 20, 10, 100, 0.5, 1.5, 50, 5, 500, 10);

    private final ChaosJudge judge = new ChaosJudge(OPTIONS, DEADLINE_MILLIS);

    private static Requests requests(int count, long fromMillis, long latencyMillis, String outcome) {
        List<Request> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(new Request("1", fromMillis + 50L * i, 1000 * latencyMillis, "route", outcome));
        }
        return new Requests(all);
    }

    private static Requests ok(int count, long fromMillis, long latencyMillis) {
        return requests(count, fromMillis, latencyMillis, Request.SUCCESS);
    }

    private static List<Boolean> holds(List<ChaosJudge.Verdict> verdicts) {
        return verdicts.stream().map(ChaosJudge.Verdict::holds).toList();
    }

    @Test
    void comparesTheNeighbourWithItsOwnCalmPhase() {
        Requests calm = ok(100, 0, 40);

        assertThat(holds(judge.neighbour(calm, ok(200, 5_000, 90)))).containsExactly(true, true);
        assertThat(holds(judge.neighbour(calm, ok(200, 5_000, 91))))
                .as("1.5 times 40 ms, and 50 ms more")
                .containsExactly(true, false);
        assertThat(holds(judge.neighbour(ok(100, 0, 200), ok(200, 5_000, 300)))).containsExactly(true, true);
        assertThat(holds(judge.neighbour(ok(100, 0, 200), ok(200, 5_000, 301)))).containsExactly(true, false);
    }

    @Test
    void allowsTheNeighbourAFewLosses() {
        Requests one = Requests.of(List.of(ok(199, 5_000, 40), requests(1, 6_000, 40, "reset")));
        Requests two = Requests.of(List.of(ok(198, 5_000, 40), requests(2, 6_000, 40, "reset")));

        assertThat(holds(judge.neighbour(ok(100, 0, 40), one))).containsExactly(true, true);
        assertThat(holds(judge.neighbour(ok(100, 0, 40), two))).containsExactly(false, true);
    }

    @Test
    void findsACallerWhoWaitsBeyondTheDeadline() {
        assertThat(judge.longestWait(ok(10, 0, 1_300)).holds()).isTrue();
        assertThat(judge.longestWait(Requests.of(List.of(ok(10, 0, 20), requests(1, 600, 1_301, "timeout"))))
                        .holds())
                .isFalse();
    }

    @Test
    void findsCallersWhoWaitForABackendThatIsKnownToHang() {
        Requests before = requests(36, 10_000, 800, "deadline-exceeded");
        Requests refused = requests(100, 11_800, 1, "circuit-open");
        Requests waiting = requests(100, 11_800, 800, "deadline-exceeded");

        assertThat(judge.waitingInVain(Requests.of(List.of(before, refused)), 10_000)
                        .holds())
                .as("until the gateway knows it")
                .isTrue();
        assertThat(judge.waitingInVain(Requests.of(List.of(before, waiting)), 10_000)
                        .holds())
                .isFalse();
        assertThat(judge.waitingInVain(before, 10_000).holds())
                .as("too short to tell")
                .isFalse();
    }

    @Test
    void measuresTheRecoveryUpToTheFirstCallFromWhichOnAllAreServed() {
        Requests refused = requests(20, 20_000, 1, "circuit-open");
        Requests after = Requests.of(List.of(refused, ok(100, 21_000, 40)));

        assertThat(ChaosJudge.secondsUntilServed(after, 20_000)).isEqualTo(1.04);
        assertThat(judge.recovery(after, 20_000).holds()).isTrue();
        assertThat(judge.recovery(
                                Requests.of(List.of(requests(100, 20_000, 1, "circuit-open"), ok(50, 25_000, 40))),
                                20_000)
                        .holds())
                .as("after 5.04 s")
                .isFalse();
        assertThat(judge.recovery(refused, 20_000).measured()).isEqualTo("not");
    }

    /** A single success between failures is no recovery. */
    @Test
    void takesNoProbeForTheRecovery() {
        Requests after =
                Requests.of(List.of(ok(1, 20_000, 40), requests(20, 20_050, 1, "circuit-open"), ok(100, 21_050, 40)));

        assertThat(ChaosJudge.secondsUntilServed(after, 20_000)).isEqualTo(1.09);
    }

    @Test
    void saysNothingAboutARouteThatWasNotHealthyBefore() {
        assertThat(judge.invalid("hang", ok(100, 0, 20), ok(100, 0, 20), 7)).isEmpty();
        assertThat(judge.invalid("hang", requests(100, 0, 20, "status-404"), ok(100, 0, 20), 7))
                .containsExactly("before hang: only 0.0 % of the route's requests were answered 200 (expected: 99 %):"
                        + " {status-404=100}");
        assertThat(judge.invalid("hang", ok(100, 0, 20), ok(100, 0, 20), 0))
                .singleElement()
                .asString()
                .startsWith("hang: the gateway has injected it into no call");
    }
}
