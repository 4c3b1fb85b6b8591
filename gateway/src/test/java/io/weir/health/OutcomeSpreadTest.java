package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The origins of outcomes; {@link RouteHealthTest} and {@link BackendRoutesTest} have their effects. */
class OutcomeSpreadTest {

    private static final int ALL = Integer.MAX_VALUE;

    private long now = TimeUnit.SECONDS.toNanos(1_000);
    private final OutcomeSpread spread = new OutcomeSpread();

    private void record(int calls, int route, int caller, boolean hasFailed) {
        for (int i = 0; i < calls; i++) {
            now += 1_000_000;
            spread.record(route, caller, hasFailed, now);
        }
    }

    @Test
    void knowsNothingAtFirst() {
        assertThat(spread.failsByRoute(-1, ALL, 50, now)).isFalse();
        assertThat(spread.failsByCaller(ALL, 50, now)).isFalse();
    }

    @Test
    void seesTheRouteThatFails() {
        record(20, 1, 1, true);
        record(20, 2, 1, false);

        assertThat(spread.failsByRoute(-1, ALL, 50, now)).isTrue();
        assertThat(spread.failsByRoute(1, ALL, 50, now)).isTrue();
        assertThat(spread.failsByRoute(2, ALL, 50, now)).isFalse();
        assertThat(spread.failsByCaller(ALL, 50, now)).as("one caller").isFalse();
    }

    @Test
    void ignoresGoodAnswersBeforeTheFailures() {
        record(50, 2, 2, false);
        record(20, 1, 1, true);

        assertThat(spread.failsByRoute(1, ALL, 50, now)).isFalse();
        assertThat(spread.failsByCaller(ALL, 50, now)).isFalse();
    }

    @Test
    void takesFewGoodAnswersForLuckIfNotAllCallsFail() {
        for (int i = 0; i < 20; i++) {
            record(1, 1, 1, i % 2 == 0);
        }
        record(1, 2, 2, false);
        record(1, 1, 1, true);
        assertThat(spread.failsByRoute(1, ALL, 50, now)).isFalse();

        record(10, 2, 2, false);
        assertThat(spread.failsByRoute(1, ALL, 50, now)).isTrue();
    }

    @Test
    void looksAtTheLastOutcomesOnly() {
        record(20, 1, 1, true);
        record(20, 2, 2, false);
        assertThat(spread.failsByCaller(20, 50, now)).isFalse();
        assertThat(spread.failsByCaller(40, 50, now)).isTrue();

        now += TimeUnit.SECONDS.toNanos(61);
        assertThat(spread.failsByCaller(40, 50, now)).isFalse();
    }

    @Test
    void forgetsWhatItIsToldToForget() {
        record(20, 1, 1, true);
        record(20, 2, 2, false);
        spread.clear();
        assertThat(spread.failsByRoute(-1, ALL, 50, now)).isFalse();
    }

    @Test
    void keepsTheLastOutcomesWhenItsCountOverflowsTheRing() {
        record(10_000, 1, 1, true);
        record(64, 2, 2, false);
        assertThat(spread.failsByRoute(1, ALL, 50, now)).isTrue();
    }
}
