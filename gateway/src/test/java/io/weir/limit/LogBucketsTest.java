package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LogBucketsTest {

    @ParameterizedTest
    @ValueSource(
            longs = {1_024, 1_500, 99_999, 1_000_000, 1_048_575, 1_048_576, 20_000_000, 60_000_000_000L, (1L << 40) - 1
            })
    void roundsADurationByAtMostOneThirtySecond(long nanos) {
        assertThat(LogBuckets.nanos(LogBuckets.index(nanos))).isCloseTo(nanos, withinPercentage(100.0 / 32));
    }

    @Test
    void clampsDurationsOutOfRangeToTheFirstAndLastBucket() {
        assertThat(LogBuckets.index(-1)).isZero();
        assertThat(LogBuckets.index(0)).isZero();
        assertThat(LogBuckets.index(1_023)).isZero();
        assertThat(LogBuckets.index(1L << 40)).isEqualTo(LogBuckets.COUNT - 1);
        assertThat(LogBuckets.index(Long.MAX_VALUE)).isEqualTo(LogBuckets.COUNT - 1);
    }

    @Test
    void indexGrowsWithTheDuration() {
        int before = 0;
        for (long nanos = 1; nanos < 1L << 41; nanos += 1 + nanos / 50) {
            int index = LogBuckets.index(nanos);
            assertThat(index).isBetween(before, before + 1);
            before = index;
        }
        assertThat(before).isEqualTo(LogBuckets.COUNT - 1);
    }

    @Test
    void computesTheMedian() {
        long[] counts = new long[LogBuckets.COUNT];
        assertThat(LogBuckets.median(counts)).isZero();

        counts[LogBuckets.index(1_000_000)] = 50;
        counts[LogBuckets.index(9_000_000)] = 49;
        assertThat(LogBuckets.median(counts)).isCloseTo(1_000_000, withinPercentage(4));

        counts[LogBuckets.index(9_000_000)] = 52;
        assertThat(LogBuckets.median(counts)).isCloseTo(9_000_000, withinPercentage(4));
    }

    @Test
    void computesAnyQuantile() {
        long[] counts = new long[LogBuckets.COUNT];
        assertThat(LogBuckets.quantile(counts, 995, 1_000)).isZero();

        // 1 ms to 1000 ms, one of each.
        for (int millis = 1; millis <= 1_000; millis++) {
            counts[LogBuckets.index(millis * 1_000_000L)]++;
        }
        assertThat(LogBuckets.quantile(counts, 500, 1_000)).isCloseTo(500_000_000, withinPercentage(100.0 / 32));
        assertThat(LogBuckets.quantile(counts, 990, 1_000)).isCloseTo(990_000_000, withinPercentage(100.0 / 32));
        assertThat(LogBuckets.quantile(counts, 1_000, 1_000)).isCloseTo(1_000_000_000, withinPercentage(100.0 / 32));
    }

    @Test
    void roundsTheRankUpToAtLeastOne() {
        long[] counts = new long[LogBuckets.COUNT];
        counts[LogBuckets.index(1_000_000)] = 99;
        counts[LogBuckets.index(9_000_000)] = 1;

        long shortest = LogBuckets.nanos(LogBuckets.index(1_000_000));
        long longest = LogBuckets.nanos(LogBuckets.index(9_000_000));
        assertThat(LogBuckets.quantile(counts, 0, 1_000)).isEqualTo(shortest);
        assertThat(LogBuckets.quantile(counts, 990, 1_000)).isEqualTo(shortest);
        assertThat(LogBuckets.quantile(counts, 991, 1_000)).isEqualTo(longest);
    }
}
