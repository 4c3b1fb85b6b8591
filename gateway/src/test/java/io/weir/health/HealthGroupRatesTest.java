package io.weir.health;

import static io.weir.health.HealthGroupFixture.FAST;
import static io.weir.health.HealthGroupFixture.MILLIS;
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
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whether the failures and slow calls of several instances open one of them, or all. The instance 0 is bad;
 * the others are its peers.
 */
class HealthGroupRatesTest {

    /** Three of four calls fail, and never five in a row. */
    private static final String BAD = "FFFS".repeat(5);

    /** An instance that opens by no rate. */
    private static HealthGroupFixture withoutRates(int instances) {
        return HealthGroupFixture.of(instances, HealthGroupFixture.settings(100, 5, 100));
    }

    // ---------------------------------------------------------------- rates

    @Test
    void openAllOnceEachInstanceHasFailedHalfAsOftenAsTheThresholdDemands() {
        HealthGroupFixture orders = HealthGroupFixture.of(2);
        orders.play(1, "S".repeat(10) + "FSFSFS");
        orders.play(0, BAD + "FFFS");
        assertThat(orders.backend.failureRate()).isEqualTo(52.5f);
        assertThat(orders.backend.state())
                .as("3 of 16 calls to the peer failed")
                .isEqualTo(State.CLOSED);
        assertThat(orders.states()).containsOnly(State.CLOSED);

        orders.play(1, "F");

        assertThat(orders.states()).as("4 of 16 calls to the peer failed").containsOnly(State.OPEN);
        assertThat(orders.backend.why()).isEqualTo("failing, 22 of 41 calls failed: status-500");
        assertThat(orders.member(0).ejections() + orders.member(1).ejections()).isZero();
    }

    @Test
    void judgesTheBackendByTheLastSixteenCallsOfEachInstance() {
        HealthGroupFixture orders = withoutRates(2);
        orders.play(1, "FFFS".repeat(4) + "S".repeat(16));
        orders.play(0, "F");

        assertThat(orders.group.failAlike(false, 50, orders.now)).isFalse();
        orders.play(1, "FSFSFS");
        assertThat(orders.group.failAlike(false, 50, orders.now)).isFalse();
        orders.play(1, "F");
        assertThat(orders.group.failAlike(false, 50, orders.now)).isTrue();
    }

    @Test
    void openAllWhereTheOtherInstancesAreUnknown() {
        HealthGroupFixture orders = HealthGroupFixture.of(3);

        orders.play(0, BAD);

        assertThat(orders.states()).containsOnly(State.OPEN);
        assertThat(orders.backend.why()).startsWith("failing, 15 of 20 calls failed");
    }

    @Test
    void theLastInstanceOpensByItsOwnWindow() {
        HealthGroupFixture orders = HealthGroupFixture.of(2);
        orders.member(1).operator().openNow();

        orders.play(0, BAD);

        assertThat(orders.state(0)).isEqualTo(State.OPEN);
        assertThat(orders.member(0).ejections()).isEqualTo(1);
        assertThat(orders.backend.why()).isEqualTo("all instances are open; the last: failing, 15 of 20 calls failed");
        assertThat(orders.group.failAlike(false, 50, orders.now))
                .as("none is in")
                .isFalse();
    }

    static List<Arguments> peersOfABadInstance() {
        String one = "F" + "S".repeat(15);
        String two = "FF" + "S".repeat(14);
        return List.of(
                Arguments.of("1 of 16, and 7 of 62", "FSSSSSS".repeat(6) + "SSSS" + one, State.OPEN),
                Arguments.of("1 of 16, but 8 of 62", "FSSSSS".repeat(7) + "SSSS" + one, State.CLOSED),
                Arguments.of("2 of 16, although 2 of 62", "S".repeat(46) + two, State.CLOSED),
                Arguments.of("1 of 16", one, State.OPEN));
    }

    @ParameterizedTest(name = "{0} calls to its peer failed: {2}")
    @MethodSource("peersOfABadInstance")
    void anInstanceOpensByItsRatesOnlyIfAPeerHardlyFails(String counts, String peer, State expected) {
        HealthGroupFixture orders = HealthGroupFixture.of(2);
        orders.play(1, peer);

        orders.play(0, BAD);

        assertThat(orders.states()).containsExactly(expected, State.CLOSED);
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
    }

    @ParameterizedTest
    @CsvSource({"S, OPEN", "F, CLOSED"})
    void oneHealthyPeerOfSeveralIsEnough(String lastCallOfThird, State expected) {
        HealthGroupFixture orders = HealthGroupFixture.of(4);
        orders.play(1, "FS".repeat(8));
        orders.play(2, "S".repeat(14) + "F" + lastCallOfThird);
        orders.member(3).operator().openNow();

        orders.play(0, BAD);

        assertThat(orders.state(0)).isEqualTo(expected);
    }

    @Test
    void aSlowInstanceOpensAlone() {
        HealthGroupFixture orders = HealthGroupFixture.of(2, HealthGroupFixture.settings(20, 5, 50));
        orders.play(1, "L" + "S".repeat(19));

        orders.play(0, "L".repeat(20));

        assertThat(orders.states()).containsExactly(State.OPEN, State.CLOSED);
        assertThat(orders.member(0).why()).isEqualTo("slow, 20 of 20 calls took 0.4 s or longer");
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void openAllOnceEachInstanceIsHalfAsOftenSlowAsTheThresholdDemands() {
        HealthGroupFixture orders = HealthGroupFixture.of(2, HealthGroupFixture.settings(20, 5, 50));
        orders.play(1, "LSSSS".repeat(4));
        orders.play(0, "L".repeat(30));
        orders.play(1, "L");
        assertThat(orders.states()).as("5 of 21 calls to the peer were slow").containsOnly(State.CLOSED);

        orders.play(1, "L");

        assertThat(orders.states()).containsOnly(State.OPEN);
        assertThat(orders.backend.why()).isEqualTo("slow, 36 of 52 calls took 0.4 s or longer");
    }

    // ---------------------------------------------------------------- cooling down, and overload

    @Test
    void anInstanceCoolsDownUntilAllInstancesTogetherHaveAnsweredEightCalls() {
        HealthGroupFixture orders = withoutRates(3);
        orders.succeed(1, 20);
        orders.fail(0, 1);
        assertThat(orders.member(0).role().coolDownFailures(orders.now)).isZero();
        orders.fail(0, 1);
        assertThat(orders.member(0).role().coolDownFailures(orders.now)).isEqualTo(2);

        orders.succeed(1, 4);
        orders.succeed(2, 3);
        assertThat(orders.member(0).role().coolDownFailures(orders.now)).isEqualTo(2);
        orders.succeed(2, 1);

        assertThat(orders.member(0).role().coolDownFailures(orders.now)).isZero();
    }

    @ParameterizedTest
    @CsvSource({"2, 0, false", "2, 1, true", "3, 1, true", "4, 1, false", "4, 2, true", "5, 2, true"})
    void overloadIsSharedIfHalfOfTheOtherInstancesFailCalls(int instances, int failing, boolean isShared) {
        HealthGroupFixture orders = withoutRates(instances);
        orders.fail(0, 3);
        for (int i = 1; i < instances; i++) {
            orders.play(i, (i <= failing ? "F" : "S") + "S".repeat(15));
        }
        assertThat(orders.member(0).role().isOverloadShared(orders.now)).isEqualTo(isShared);
    }

    @Test
    void failuresBeforeTheLastSixteenCallsAreNoSignOfASharedOverload() {
        HealthGroupFixture orders = withoutRates(2);
        orders.play(1, "F" + "S".repeat(16));

        assertThat(orders.member(0).role().isOverloadShared(orders.now)).isFalse();
    }

    /** A result may be recorded after another thread has opened its instance. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void instancesThatAreOutDoNotDecideWhetherOverloadIsShared(boolean isSecondOut) {
        HealthGroupFixture orders = withoutRates(3);
        orders.succeed(1, 1);
        orders.member(2).operator().openNow();
        orders.group.failed(orders.member(2), FAST, failure(), orders.now);
        if (isSecondOut) {
            orders.member(1).operator().openNow();
        }
        assertThat(orders.member(0).role().isOverloadShared(orders.now))
                .as("shared, since there is no other instance")
                .isEqualTo(isSecondOut);
    }

    @Test
    void forgetsTheFailuresOfAnOverloadAfterAMinute() {
        HealthGroupFixture orders = withoutRates(2);
        orders.fail(1, 1);
        orders.now += 60 * SECOND + MILLIS;

        assertThat(orders.member(0).role().isOverloadShared(orders.now)).isFalse();
    }
}
