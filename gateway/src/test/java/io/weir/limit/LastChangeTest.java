package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.Limit.Change;
import org.junit.jupiter.api.Test;

class LastChangeTest {

    private final LastChange last = new LastChange();

    @Test
    void isTheCreationAtFirst() {
        assertLast(Change.INITIAL, 0);
    }

    @Test
    void isTheLatestOne() {
        last.record(8, 16, Change.GROWTH, 1);
        last.record(16, 12, Change.QUEUEING, 2);

        assertLast(Change.QUEUEING, 2);
    }

    @Test
    void forgetsAProbeAfterWhichTheLimitIsAsBefore() {
        last.record(8, 16, Change.GROWTH, 1);

        last.record(16, 8, Change.PROBE, 10);
        assertLast(Change.PROBE, 10);
        last.record(8, 16, Change.GROWTH, 11);

        assertLast(Change.GROWTH, 1);
        assertThat(last.isProbing()).isFalse();
    }

    @Test
    void isTheChangeThatAProbeLedTo() {
        last.record(8, 16, Change.GROWTH, 1);
        last.record(16, 8, Change.PROBE, 10);

        last.record(8, 12, Change.QUEUEING, 11);

        assertLast(Change.QUEUEING, 11);
    }

    /** The limit of the probe is by chance the one that is in force after it. */
    @Test
    void endsAProbeAfterWhichTheLimitStaysLow() {
        last.record(16, 8, Change.PROBE, 10);

        last.record(8, 8, Change.QUEUEING, 11);

        assertLast(Change.QUEUEING, 11);
        assertThat(last.isProbing()).isFalse();
    }

    @Test
    void isTheOneBeforeAProbeThatTheSettingsHaveEnded() {
        last.record(8, 16, Change.GROWTH, 1);
        last.record(16, 8, Change.PROBE, 10);

        last.moved(12, false);

        assertLast(Change.GROWTH, 1);
        assertThat(last.isProbing()).isFalse();
    }

    @Test
    void forgetsAProbeAfterWhichTheLimitIsAsTheSettingsHaveMovedIt() {
        last.record(8, 16, Change.GROWTH, 1);
        last.record(16, 8, Change.PROBE, 10);
        last.moved(12, true);
        assertLast(Change.PROBE, 10);

        last.record(8, 12, Change.GROWTH, 11);

        assertLast(Change.GROWTH, 1);
    }

    @Test
    void isNotChangedByTheSettings() {
        last.record(8, 16, Change.GROWTH, 1);

        last.moved(12, false);

        assertLast(Change.GROWTH, 1);
    }

    private void assertLast(Change reason, double at) {
        assertThat(last.reason()).isEqualTo(reason);
        assertThat(last.at()).isEqualTo(at);
    }
}
