package io.weir.limit;

/**
 * Buckets for times, each a sixteenth of a power of two wide: a time read from them is off by at most a thirty-second
 * part. From a microsecond to a quarter of an hour; what is shorter or longer is in the first or the last.
 */
public final class LogBuckets {

    private static final int SUB_BITS = 4;
    private static final int SUBS = 1 << SUB_BITS;
    private static final int MIN_EXPONENT = 10;
    private static final int MAX_EXPONENT = 39;

    /** How many there are. */
    public static final int COUNT = (MAX_EXPONENT - MIN_EXPONENT + 1) * SUBS;

    private LogBuckets() {}

    /** The bucket of a time. */
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

    /** The middle of a bucket. */
    public static long nanos(int index) {
        int exponent = MIN_EXPONENT + index / SUBS;
        long middle = 2L * (SUBS + index % SUBS) + 1;
        return middle << (exponent - SUB_BITS - 1);
    }

    /** The median of the times that were counted; 0 if there are none. */
    static long median(long[] counts) {
        return quantile(counts, 1, 2);
    }

    /**
     * The time that a share of the times that were counted is not above; 0 if there are none.
     *
     * @param share of {@code whole}: 995 of 1000
     */
    public static long quantile(long[] counts, int share, int whole) {
        long all = 0;
        for (long count : counts) {
            all += count;
        }
        long rank = (all * share + whole - 1) / whole;
        // The least of them is the first, and not the one before.
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
