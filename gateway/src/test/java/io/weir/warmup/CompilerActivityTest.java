package io.weir.warmup;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class CompilerActivityTest {

    private static final long CALLS_MIN = 1_000;
    private static final long SPAN_MILLIS = CompilerActivity.SPAN.toMillis();

    private final CompilerActivity activity = new CompilerActivity(CALLS_MIN, Long.MAX_VALUE - 1_000, 500);
    private long now = Long.MAX_VALUE - 1_000;
    private long usedMillis = 500;

    @Test
    void isQuietAfterTwoSpansInARow() {
        assertThat(span(CALLS_MIN, 0)).isFalse();
        assertThat(span(CALLS_MIN, 0)).isTrue();
    }

    @Test
    void isNotQuietBeforeEnoughCalls() {
        assertThat(span(CALLS_MIN - 1, 0)).isFalse();
        assertThat(span(CALLS_MIN - 1, 0)).isFalse();
        assertThat(span(CALLS_MIN, 0)).isFalse();
        assertThat(span(CALLS_MIN, 0)).isTrue();
    }

    @Test
    void isNotQuietWhileItCompilesNowAndThen() {
        for (int i = 0; i < 10; i++) {
            assertThat(span(CALLS_MIN, 0)).isFalse();
            assertThat(span(CALLS_MIN, SPAN_MILLIS)).isFalse();
        }
        assertThat(activity.share()).isEqualTo(1);
    }

    @Test
    void ignoresLittleWork() {
        span(CALLS_MIN, SPAN_MILLIS / 20);
        assertThat(span(CALLS_MIN, SPAN_MILLIS / 20)).isTrue();
        assertThat(activity.share()).isEqualTo(0.05);
    }

    @Test
    void judgesWholeSpansOnly() {
        now += CompilerActivity.SPAN.toNanos() / 2;
        assertThat(activity.isQuiet(now, CALLS_MIN, usedMillis)).isFalse();
        assertThat(activity.isQuiet(now, CALLS_MIN, usedMillis)).isFalse();
        assertThat(activity.isQuiet(now, CALLS_MIN, usedMillis)).isFalse();
    }

    private boolean span(long calls, long compiledMillis) {
        now += CompilerActivity.SPAN.toNanos();
        usedMillis += compiledMillis;
        return activity.isQuiet(now, calls, usedMillis);
    }
}
