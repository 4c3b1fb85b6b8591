package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.check.ConfigurationDifference.ChangedValue;
import io.weir.reload.ConfigurationChange.Trigger;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class ChangeHistoryTest {

    private final ChangeHistory history = new ChangeHistory();

    private static ConfigurationChange applied(int at) {
        ChangedValue difference = new ChangedValue("weir.backends.orders.deadline", at + "s", null);
        return new ConfigurationChange(
                Instant.ofEpochSecond(at), Trigger.WATCH, "file watch", List.of(difference), List.of());
    }

    private static ConfigurationChange rejected(int at) {
        return new ConfigurationChange(
                Instant.ofEpochSecond(at), Trigger.REQUEST, "192.0.2.7:4711", List.of(), List.of("no"));
    }

    @Test
    void keepsTheLastTenChangesLatestFirst() {
        for (int at = 1; at <= 12; at++) {
            history.add(applied(at));
        }

        assertThat(history.changes()).hasSize(10);
        assertThat(history.changes().getFirst()).isEqualTo(applied(12));
        assertThat(history.changes().getLast()).isEqualTo(applied(3));
    }

    @Test
    void keepsTheRejectedChangeUntilTheFilesAreInForce() {
        history.add(applied(1));
        history.add(rejected(2));
        history.add(rejected(3));

        assertThat(history.lastRejected()).isEqualTo(rejected(3));
        assertThat(history.changes()).containsExactly(applied(1));

        // An operator's change; the files are still invalid.
        history.add(applied(4));
        assertThat(history.lastRejected()).isEqualTo(rejected(3));

        history.clearRejected();
        assertThat(history.lastRejected()).isNull();
    }

    @Test
    void formatsAChangedValueAsOneLine() {
        assertThat(applied(7).differences().getFirst()).hasToString("weir.backends.orders.deadline: 7s -> (default)");
    }
}
