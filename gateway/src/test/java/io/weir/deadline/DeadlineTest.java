package io.weir.deadline;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DeadlineTest {

    @Test
    void isTheBackendsUnlessTheCallersTimeoutIsShorter() {
        assertThat(Deadline.of(1_000, 500, CallerTimeout.NONE)).isEqualTo(new Deadline(1_500, false));
        assertThat(Deadline.of(1_000, 500, 499)).isEqualTo(new Deadline(1_499, true));
    }

    @Test
    void isNeverLengthenedByACaller() {
        assertThat(Deadline.of(1_000, 500, 501)).isEqualTo(new Deadline(1_500, false));
        assertThat(Deadline.of(1_000, 500, 500)).isEqualTo(new Deadline(1_500, false));
    }

    @Test
    void remainingTimeIsCorrectIfTheClockOverflows() {
        Deadline deadline = Deadline.of(Long.MAX_VALUE - 10, 100, CallerTimeout.NONE);

        assertThat(deadline.leftNanos(Long.MAX_VALUE - 10)).isEqualTo(100);
        assertThat(deadline.leftNanos(Long.MIN_VALUE + 89)).isZero();
        assertThat(deadline.leftNanos(Long.MIN_VALUE + 90)).isNegative();
    }
}
