package io.weir.health;

import static io.weir.health.HealthGroupFixture.FAST;
import static io.weir.health.HealthGroupFixture.SECOND;
import static io.weir.health.HealthGroupFixture.failure;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * An instance that fails or stalls alone. The instance 0 fails; the others are its peers. {@link
 * HealthGroupRatesTest} has the rates, {@link HealthGroupStandingTest} the effect on the backend.
 */
class HealthGroupTest {

    /** So many calls before rates are judged that only failures in a row open an instance. */
    private static final HealthSettings ROWS_ONLY = HealthGroupFixture.settings(100, 5, 100);

    private static HealthGroupFixture rowsOnly(int instances) {
        return HealthGroupFixture.of(instances, ROWS_ONLY);
    }

    // ---------------------------------------------------------------- failures in a row

    /** The fewer calls of the peers are known, the more failures are needed. */
    @ParameterizedTest
    @CsvSource({"1, 17", "6, 9", "14, 7", "30, 6", "62, 5", "200, 5"})
    void ejectsAnInstanceWhoseFailuresInARowAreNoChance(int answersOfThePeer, int failures) {
        HealthGroupFixture orders = rowsOnly(2);
        orders.succeed(1, answersOfThePeer);
        orders.fail(0, failures - 1);
        assertThat(orders.state(0)).as("one failure less").isEqualTo(State.CLOSED);

        orders.fail(0, 1);

        assertThat(orders.state(0)).isEqualTo(State.OPEN);
        assertThat(orders.member(0).why())
                .isEqualTo(
                        "failing alone, %d failures in a row while 0 of %d calls to the others failed: status-500",
                        failures, Math.min(answersOfThePeer, 62));
        assertThat(orders.member(0).ejections()).isEqualTo(1);
        assertThat(orders.state(1)).isEqualTo(State.CLOSED);
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
    }

    static List<Arguments> failingPeers() {
        return List.of(
                Arguments.of("a quarter of all calls", "FS".repeat(15) + "S".repeat(32), 14),
                Arguments.of("an eighth of the last calls, too", "SSSSSSSF".repeat(7) + "S".repeat(6), 9),
                Arguments.of("three of the last eight calls", "S".repeat(54) + "FSFSFSSS", 19),
                Arguments.of("just less than half of all calls", "FFFS".repeat(10) + "S".repeat(22), 26));
    }

    /** At the failure rate of the peers, chance must give such a row once in 1e8 tries. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("failingPeers")
    void needsMoreFailuresInARowWherePeersFailToo(String peerFails, String peer, int failures) {
        HealthGroupFixture orders = rowsOnly(2);
        orders.play(1, peer);
        orders.fail(0, failures - 1);
        assertThat(orders.state(0)).as("one failure less").isEqualTo(State.CLOSED);

        orders.fail(0, 1);

        assertThat(orders.state(0)).isEqualTo(State.OPEN);
        assertThat(orders.member(0).why())
                .contains("%d failures in a row".formatted(failures))
                .contains("%d of 62 calls"
                        .formatted(peer.chars().filter(c -> c == 'F').count()));
    }

    static List<Arguments> peersThatFailHalf() {
        return List.of(
                Arguments.of("half of all calls", "FFFS".repeat(10) + "F" + "S".repeat(21)),
                Arguments.of("half of the last eight calls", "S".repeat(54) + "FSFSFSFS"),
                Arguments.of("no calls", ""));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("peersThatFailHalf")
    void neverEjectsAnInstanceForFailuresInARowWhilePeersFailHalfOfTheirCalls(String peerFails, String peer) {
        HealthGroupFixture orders = rowsOnly(2);
        orders.play(1, peer);

        orders.fail(0, 37);

        assertThat(orders.states()).containsOnly(State.CLOSED);
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void doesNotCountPeersThatHaveFailedAsManyInARow() {
        HealthGroupFixture orders = rowsOnly(3);
        orders.fail(1, 5);
        assertThat(orders.state(1)).as("no peer is known yet").isEqualTo(State.CLOSED);
        orders.succeed(2, 62);

        orders.fail(0, 5);
        orders.fail(1, 1);

        assertThat(orders.states()).containsExactly(State.OPEN, State.OPEN, State.CLOSED);
        assertThat(orders.member(0).why()).contains("while 0 of 62 calls to the others failed");
        assertThat(orders.member(1).why()).contains("6 failures in a row while 0 of 62 calls");
    }

    @Test
    void countsPeersThatHaveFailedFewerInARow() {
        HealthGroupFixture orders = rowsOnly(3);
        orders.fail(1, 4);
        orders.succeed(2, 62);
        orders.fail(0, 16);
        assertThat(orders.state(0))
                .as("a third of the peers' last calls failed")
                .isEqualTo(State.CLOSED);

        orders.fail(0, 1);

        assertThat(orders.state(0)).isEqualTo(State.OPEN);
        assertThat(orders.member(0).why()).contains("while 4 of 66 calls to the others failed");
    }

    /** A result may be recorded after another thread has opened its instance. */
    @Test
    void doesNotCountPeersThatAreOut() {
        HealthGroupFixture orders = rowsOnly(3);
        orders.member(2).operator().openNow();
        for (int i = 0; i < 4; i++) {
            orders.group.failed(orders.member(2), FAST, failure(), orders.now);
        }
        orders.succeed(1, 62);

        orders.fail(0, 5);

        assertThat(orders.state(0)).isEqualTo(State.OPEN);
        assertThat(orders.member(0).why()).contains("while 0 of 62 calls to the others failed");
    }

    @ParameterizedTest
    @CsvSource({"0, OPEN", "1, CLOSED"})
    void forgetsThePeersAfterAMinute(long nanosMore, State expected) {
        HealthGroupFixture orders = rowsOnly(2);
        orders.succeed(1, 62);
        orders.now += 60 * SECOND - 5 * FAST + nanosMore;

        orders.fail(0, 5);

        assertThat(orders.state(0)).isEqualTo(expected);
    }

    @Test
    void aGoodAnswerEndsTheRow() {
        HealthGroupFixture orders = rowsOnly(2);
        orders.succeed(1, 62);
        orders.play(0, "FFFFSFFFF");
        assertThat(orders.state(0)).isEqualTo(State.CLOSED);

        orders.fail(0, 1);

        assertThat(orders.state(0)).isEqualTo(State.OPEN);
    }

    /** The call was sent before the first failure, so its answer does not show that the instance recovers. */
    @ParameterizedTest
    @CsvSource({"true, OPEN", "false, CLOSED"})
    void aGoodAnswerToAnEarlierCallDoesNotEndTheRow(boolean isEarlier, State expected) {
        HealthGroupFixture orders = rowsOnly(2);
        orders.succeed(1, 62);
        long sentAt = orders.now;
        Generation early = orders.enter(0);
        orders.fail(0, 2);
        if (!isEarlier) {
            sentAt = orders.now;
        }
        orders.fail(0, 2);
        orders.member(0).succeeded(early, orders.now - sentAt, orders.now);

        orders.fail(0, 1);

        assertThat(orders.state(0)).isEqualTo(expected);
    }

    @Test
    void signsOfOverloadEjectAnInstanceAloneButAreNoFailuresOfTheBackend() {
        HealthGroupFixture orders = rowsOnly(2);
        orders.succeed(1, 62);
        Generation call = orders.enter(0);
        BackendFailure overload = new BackendFailure("status-503");
        for (int i = 0; i < 4; i++) {
            orders.member(0).role().overloaded(call, overload, orders.now);
        }
        assertThat(orders.state(0)).isEqualTo(State.CLOSED);
        assertThat(orders.backend.rates().getNumberOfFailedCalls()).isZero();
        assertThat(orders.backend.rates().getTotalNumberOfCalls()).isEqualTo(62);

        orders.member(0).role().overloaded(call, overload, orders.now);

        assertThat(orders.state(0)).isEqualTo(State.OPEN);
        assertThat(orders.member(0).why())
                .contains("failing alone, 5 failures in a row")
                .endsWith(": status-503");
    }

    @Test
    void signsOfOverloadOfCallsBeforeTheLastOpeningAreNoEvidence() {
        HealthGroupFixture orders = rowsOnly(2);
        Generation before = orders.enter(0);
        orders.recover(0);
        orders.succeed(1, 62);

        for (int i = 0; i < 100; i++) {
            orders.member(0).role().overloaded(before, failure(), orders.now);
        }

        assertThat(orders.member(0).recent().failuresInARow()).isZero();
        assertThat(orders.state(0)).isEqualTo(State.HALF_OPEN);
    }

    /** The rules of the ramp judge it: less than half of its calls have failed. */
    @Test
    void doesNotEjectAnInstanceThatRampsUpForFailuresInARow() {
        HealthGroupFixture orders = rowsOnly(2);
        orders.succeed(1, 62);
        orders.recover(0);

        orders.play(0, "SSSSSSFFFFF");

        assertThat(orders.member(0).recent().failuresInARow()).isEqualTo(5);
        assertThat(orders.state(0)).isEqualTo(State.HALF_OPEN);
    }

    // ---------------------------------------------------------------- stalls

    @Test
    void anInstanceStallsAfterThreeCallsIfItsPeersHaveAnsweredSince() {
        HealthGroupFixture orders = HealthGroupFixture.of(2);
        List<Generation> calls = orders.enter(0, 3);
        long sentAt = orders.now;
        orders.now += SECOND - FAST;
        orders.succeed(1, 1);
        orders.stall(0, calls.get(0), sentAt);
        orders.stall(0, calls.get(1), sentAt);
        assertThat(orders.state(0)).isEqualTo(State.CLOSED);

        orders.stall(0, calls.get(2), sentAt);

        assertThat(orders.state(0)).isEqualTo(State.OPEN);
        assertThat(orders.member(0).why()).isEqualTo("stalled, no answer for 1.0 s, 3 calls unanswered");
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
        assertThat(orders.givenBack).isEqualTo(3);
    }

    @Test
    void anInstanceStallsAfterFewerCallsWhereFewerAreConfigured() {
        HealthGroupFixture orders = HealthGroupFixture.of(2, HealthGroupFixture.settings(20, 2, 100));
        List<Generation> calls = orders.enter(0, 2);
        long sentAt = orders.now;
        orders.now += SECOND;
        orders.succeed(1, 1);

        calls.forEach(call -> orders.stall(0, call, sentAt));

        assertThat(orders.state(0)).isEqualTo(State.OPEN);
    }

    /** An answer at the moment of the sending is no later one. */
    @Test
    void openAllAfterFiveStalledCallsIfNoInstanceHasAnsweredSince() {
        HealthGroupFixture orders = HealthGroupFixture.of(2);
        orders.succeed(1, 1);
        List<Generation> calls = orders.enter(0, 4);
        long sentAt = orders.now;
        Generation fifth = orders.enter(1);
        orders.now += SECOND;
        calls.forEach(call -> orders.stall(0, call, sentAt));
        assertThat(orders.states()).containsOnly(State.CLOSED);

        orders.stall(1, fifth, sentAt);

        assertThat(orders.states()).containsOnly(State.OPEN);
        assertThat(orders.backend.why()).isEqualTo("stalled, no answer for 1.0 s, 5 calls unanswered");
        assertThat(orders.member(0).why()).isEqualTo(orders.backend.why());
        assertThat(orders.member(0).ejections() + orders.member(1).ejections()).isZero();
        assertThat(orders.givenBack).as("permits of the calls that hang").isEqualTo(5);
    }

    @Test
    void anAnswerOfAnyInstanceEndsTheStallOfTheBackend() {
        HealthGroupFixture orders = HealthGroupFixture.of(3);
        List<List<Generation>> calls = List.of(orders.enter(0, 2), orders.enter(1, 2), orders.enter(2, 2));
        long sentAt = orders.now;
        orders.now += SECOND;
        calls.get(0).forEach(call -> orders.stall(0, call, sentAt));
        calls.get(1).forEach(call -> orders.stall(1, call, sentAt));

        orders.succeed(2, 1);
        orders.now += SECOND;
        calls.get(2).forEach(call -> orders.stall(2, call, sentAt));

        assertThat(orders.states()).containsOnly(State.CLOSED);
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void countsACallThatIsJudgedAgainOnce() {
        HealthGroupFixture orders = HealthGroupFixture.of(2);
        Generation call = orders.enter(0);
        long sentAt = orders.now;
        long judgedSince = sentAt - 1;
        for (int i = 0; i < 10; i++) {
            orders.now += SECOND;
            long silentSince = orders.now - SECOND;
            orders.member(0).stalled(call, sentAt, silentSince, judgedSince, orders.now);
            judgedSince = silentSince;
        }
        assertThat(orders.states()).containsOnly(State.CLOSED);
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
    }

    /** Another thread may open the backend while a call to an instance is judged. */
    @Test
    void needsTheConfiguredStalledCallsWhileTheBackendIsOpen() {
        HealthGroupFixture orders = HealthGroupFixture.of(2);
        long sentAt = orders.now;
        orders.succeed(1, 1);
        assertThat(orders.group.stallCalls(5, sentAt)).isEqualTo(3);

        orders.backend.operator().openNow();

        assertThat(orders.group.stallCalls(5, sentAt)).isEqualTo(5);
    }
}
