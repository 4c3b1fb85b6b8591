package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A route that fails or hangs while others of its backend are answered, in virtual time. */
class RouteHealthTest {

    private static final int CALLS = 2_000;

    private final RoutesFixture orders = new RoutesFixture();
    private final RouteHealth bad = orders.route("bad");
    private final RouteHealth good = orders.route("good");
    private final Random random = new Random(1);

    private void warmUp(double badShare) {
        for (int i = 0; i < 200; i++) {
            orders.call(random.nextDouble() < badShare ? bad : good, 1, true);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 44, 50, 60, 85})
    void opensAloneWhileItsSiblingIsAnswered(int badPercent) {
        warmUp(badPercent / 100.0);
        int failed = 0;
        int refused = 0;
        for (int i = 0; i < CALLS; i++) {
            if (random.nextInt(100) < badPercent) {
                boolean isSent = orders.call(bad, 1, false);
                failed += isSent ? 1 : 0;
                refused += isSent ? 0 : 1;
            } else {
                assertThat(orders.call(good, 1, true)).as("call " + i).isTrue();
            }
        }
        assertThat(failed).isLessThanOrEqualTo(50);
        assertThat(refused).isPositive();
        assertThat(bad.health().state()).isEqualTo(State.OPEN);
        assertThat(bad.refusal()).contains("route bad");
        assertThat(orders.state()).isEqualTo(State.CLOSED);
    }

    @ParameterizedTest
    @CsvSource({"10, 1", "44, 2", "85, 3", "50, 4", "97, 5"})
    void opensTheBackendAsEarlyAsWithOneRouteIfAllFail(int badPercent, int seed) {
        RoutesFixture single = new RoutesFixture();
        random.setSeed(seed);
        for (int i = 0; i < 200; i++) {
            boolean isBad = random.nextInt(100) < badPercent;
            orders.call(isBad ? bad : good, i, true);
            single.call(null, i, true);
        }
        int sent = 0;
        while (orders.state() == State.CLOSED && sent < 1_000) {
            orders.call(random.nextInt(100) < badPercent ? bad : good, sent, false);
            sent++;
        }
        int sentToSingle = 0;
        while (single.state() == State.CLOSED) {
            single.call(null, sentToSingle, false);
            sentToSingle++;
        }
        assertThat(sent).isLessThanOrEqualTo(sentToSingle + 10);
    }

    @Test
    void opensTheBackendIfNoOtherRouteIsCalled() {
        while (orders.call(bad, 1, false)) {
            // Until the backend refuses.
        }
        assertThat(orders.state()).isEqualTo(State.OPEN);
        assertThat(bad.isClosed())
                .as("the backend's opening has judged the evidence")
                .isTrue();
    }

    @Test
    void opensTheBackendWhenTheOtherRouteFailsToo() {
        warmUp(0.5);
        while (orders.call(bad, 1, false)) {
            orders.call(good, 1, true);
        }
        int calls = 0;
        while (orders.call(good, 1, false)) {
            calls++;
        }
        assertThat(orders.state()).isEqualTo(State.OPEN);
        assertThat(calls).isLessThanOrEqualTo(50);
    }

    @Test
    void returnsWithARampWhenAProbeIsAnswered() {
        open();
        orders.now += 100 * RoutesFixture.MILLIS;
        Probe probe = Objects.requireNonNull(bad.health().probes().tryStart(orders.now, 0, false));
        probe.answered(orders.now);
        assertThat(bad.health().state()).isEqualTo(State.HALF_OPEN);
        for (int i = 0; i < 5; i++) {
            assertThat(bad.refuses(orders.now)).isFalse();
            Objects.requireNonNull(bad.enter(orders.now));
        }
        assertThat(bad.refuses(orders.now)).as("beyond the ramp").isTrue();
        assertThat(bad.enter(orders.now)).isNull();

        assertThat(orders.call(good, 1, true)).isTrue();
    }

    @Test
    void closesAfterGoodAnswers() {
        open();
        orders.now += 100 * RoutesFixture.MILLIS;
        Objects.requireNonNull(bad.health().probes().tryStart(orders.now, 0, false))
                .answered(orders.now);
        for (int i = 0; i < 200; i++) {
            assertThat(orders.call(bad, 1, true)).isTrue();
        }
        assertThat(bad.isClosed()).isTrue();
    }

    @Test
    void opensAgainWhenItsRampFails() {
        open();
        orders.now += 100 * RoutesFixture.MILLIS;
        Objects.requireNonNull(bad.health().probes().tryStart(orders.now, 0, false))
                .answered(orders.now);
        for (int i = 0; i < 3; i++) {
            orders.call(bad, 1, false);
        }
        assertThat(bad.health().state()).isEqualTo(State.OPEN);
        assertThat(orders.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void opensAloneWhenItsCallsHangWhileOthersAreAnswered() {
        Generation backend = Objects.requireNonNull(orders.backend.enter(orders.now, true));
        Generation own = Objects.requireNonNull(bad.enter(orders.now));
        long sentAt = orders.now;
        for (int i = 0; i < 5; i++) {
            orders.call(good, 1, true);
        }
        orders.now += 1_000 * RoutesFixture.MILLIS;
        for (int i = 0; i < 5; i++) {
            bad.stalled(own, sentAt, sentAt, sentAt - 1, orders.now);
            orders.backend.stalled(backend, sentAt, sentAt, sentAt - 1, orders.now);
        }
        assertThat(bad.health().state()).isEqualTo(State.OPEN);
        assertThat(orders.stalled).as("gives permits back").isEqualTo(1);
        assertThat(orders.state()).isEqualTo(State.CLOSED);
    }

    /** It was slow, and did not hang. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void closesAtTheFirstAnswerAfterAStallWithoutARamp(boolean toAProbe) {
        Generation own = Objects.requireNonNull(bad.enter(orders.now));
        long sentAt = orders.now;
        orders.call(good, 1, true);
        orders.now += 1_000 * RoutesFixture.MILLIS;
        for (int i = 0; i < 5; i++) {
            bad.stalled(own, sentAt, sentAt, sentAt - 1, orders.now);
        }
        assertThat(bad.health().state()).isEqualTo(State.OPEN);

        orders.now += 100 * RoutesFixture.MILLIS;
        if (toAProbe) {
            Objects.requireNonNull(bad.health().probes().tryStart(orders.now, 0, false))
                    .answered(orders.now);
        } else {
            bad.succeeded(own, orders.now - sentAt, 1, orders.now);
        }
        assertThat(bad.isClosed()).isTrue();
        for (int i = 0; i < 20; i++) {
            assertThat(bad.enter(orders.now)).isNotNull();
        }
    }

    @Test
    void isSlowUntilFasterAnswersFollowTheOneThatEndedItsStall() {
        Generation own = Objects.requireNonNull(bad.enter(orders.now));
        long sentAt = orders.now;
        orders.call(good, 1, true);
        orders.now += 1_000 * RoutesFixture.MILLIS;
        for (int i = 0; i < 5; i++) {
            bad.stalled(own, sentAt, sentAt, sentAt - 1, orders.now);
        }
        assertThat(bad.recoveryNanos()).as("open").isZero();
        orders.now = sentAt + 1_500 * RoutesFixture.MILLIS;
        bad.succeeded(own, orders.now - sentAt, 1, orders.now);

        assertThat(bad.recoveryNanos()).isEqualTo(1_500 * RoutesFixture.MILLIS);
        assertThat(bad.isSlow()).isTrue();
        assertThat(bad.isBesideSlowOne()).isFalse();
        assertThat(good.isSlow()).isFalse();
        assertThat(good.isBesideSlowOne()).isTrue();
        for (int i = 0; i < 10; i++) {
            assertThat(orders.call(bad, 1, true)).isTrue();
        }
        assertThat(bad.isSlow()).isFalse();
        assertThat(good.isBesideSlowOne()).isFalse();
    }

    @Test
    void leavesAHangOfAllRoutesToTheBackend() {
        Generation backend = Objects.requireNonNull(orders.backend.enter(orders.now, true));
        Generation own = Objects.requireNonNull(bad.enter(orders.now));
        long sentAt = orders.now;
        orders.now += 1_000 * RoutesFixture.MILLIS;
        for (int i = 0; i < 5; i++) {
            bad.stalled(own, sentAt, sentAt, sentAt - 1, orders.now);
            orders.backend.stalled(backend, sentAt, sentAt, sentAt - 1, orders.now);
        }
        assertThat(orders.state()).isEqualTo(State.OPEN);
        assertThat(bad.isClosed()).isTrue();
        assertThat(orders.stalled).isZero();
    }

    /** Each verdict counts all outcomes: not one for each of thousands of 503 a second. */
    @Test
    void judgesWhetherItFailsAloneAfterAMoment() {
        warmUp(0.5);
        assertThat(bad.failsAlone(orders.now)).isFalse();
        long judgedAt = orders.now;
        for (int i = 0; i < 10; i++) {
            orders.call(bad, 1, false);
            orders.call(good, 1, true);
        }

        assertThat(bad.failsAlone(judgedAt + RouteHealth.VERDICT_NANOS - 1)).isFalse();
        assertThat(bad.failsAlone(orders.now)).isTrue();
        assertThat(good.failsAlone(orders.now)).isFalse();
    }

    @Test
    void doesNotOpenForOneCallerOfTheRoute() {
        warmUp(0.5);
        for (int i = 0; i < CALLS; i++) {
            orders.call(bad, 7, false);
            assertThat(orders.call(bad, 8 + i % 5, true)).as("call " + i).isTrue();
            assertThat(orders.call(good, 1, true)).isTrue();
        }
    }

    @Test
    void permitsEveryCallWhileAnOperatorHoldsTheBackendClosed() {
        open();
        orders.backend.operator().forceClosed();
        assertThat(bad.refuses(orders.now)).isFalse();

        orders.backend.operator().release();
        assertThat(bad.isClosed()).as("released with the backend").isTrue();
    }

    @Test
    void staysOpenWhileItsBackendOpensAndReturns() {
        open();
        orders.backend.operator().openNow();
        orders.backend.operator().halfOpenNow();
        assertThat(bad.health().state()).isEqualTo(State.OPEN);
        assertThat(bad.refuses(orders.now)).isTrue();
    }

    private void open() {
        warmUp(0.5);
        while (!bad.refuses(orders.now)) {
            orders.call(bad, 1, false);
            orders.call(good, 1, true);
        }
        assertThat(bad.health().state()).isEqualTo(State.OPEN);
    }
}
