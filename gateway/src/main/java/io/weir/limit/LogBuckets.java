package io.weir.limit;

/**
 * Logarithmic histogram buckets for durations, sixteen per power of two: a duration read from a bucket
 * differs from the measured one by at most 1/32. The buckets range from a microsecond to a quarter of an
 * hour; shorter durations are counted in the first bucket, longer ones in the last.
 */
public final class LogBuckets {

    private static final int SUB_BITS = 4;
    private static final int SUBS = 1 << SUB_BITS;
    private static final int MIN_EXPONENT = 10;
    private static final int MAX_EXPONENT = 39;

    /** The number of buckets. */
    public static final int COUNT = (MAX_EXPONENT - MIN_EXPONENT + 1) * SUBS;

    private LogBuckets() {}

    /** The index of the bucket for a duration. */
    public static int index(long nanos) {
        int exponent = Long.SIZE - 1 - Long.numberOfLeadingZeros(nanos | 1);
        if (nanos <= 0 || exponent < MIN_EXPONENT) {
            return 0;
        }
        if (exponent > MAX_EXPONENT) {
            return COUNT - 1;
        }
        int sub = (int) (nanos >>> (exponent - SUB_BITS)) & (SUBS - 1);
        return (exponent - MIN_EXPONENT) * SUBS + sub;
    }

    /** The middle of a bucket, in nanoseconds. */
    public static long nanos(int index) {
        int exponent = MIN_EXPONENT + index / SUBS;
        long middle = 2L * (SUBS + index % SUBS) + 1;
        return middle << (exponent - SUB_BITS - 1);
    }

    /** The median of the counted durations, in nanoseconds; 0 if none was counted. */
    static long median(long[] counts) {
        return quantile(counts, 1, 2);
    }

    /**
     * A quantile of the counted durations, in nanoseconds; 0 if none was counted.
     *
     * @param counts the number of durations in each bucket
     * @param share the quantile's numerator, such as 995
     * @param whole the quantile's denominator, such as 1000
     */
    public static long quantile(long[] counts, int share, int whole) {
        long all = 0;
        for (long count : counts) {
            all += count;
        }
        long rank = (all * share + whole - 1) / whole;
        // The quantile 0 is the smallest duration, which has rank 1.
        rank = all == 0 ? 0 : Math.max(1, rank);
        for (int i = 0; i < counts.length && rank > 0; i++) {
            rank -= counts[i];
            if (rank <= 0) {
                return nanos(i);
            }
        }
        return 0;
    }
}
