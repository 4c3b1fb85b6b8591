package io.weir.perf.run;

/**
 * An assertion about the requests of a load that Gatling checks.
 *
 * @param request its name; empty: not yet known
 * @param figure {@code success-percent}, {@code successes}, {@code failures}, {@code min}, {@code max}, or a
 *     percentile such as {@code p99}; times are in milliseconds
 * @param operator {@code is}, {@code lt}, {@code gt} or {@code gte}
 */
public record LoadAssertion(String request, String figure, String operator, long value) {

    public static final LoadAssertion ALL_SUCCEED = new LoadAssertion("", "failures", "is", 0);

    public static final LoadAssertion SOME_FAIL = new LoadAssertion("", "failures", "gt", 0);
    public static final LoadAssertion SOME_SUCCEED = new LoadAssertion("", "successes", "gt", 0);

    public static LoadAssertion successPercent(long atLeast) {
        return atLeast("success-percent", atLeast);
    }

    public static LoadAssertion below(String figure, long millis) {
        return new LoadAssertion("", figure, "lt", millis);
    }

    public static LoadAssertion atLeast(String figure, long value) {
        return new LoadAssertion("", figure, "gte", value);
    }

    public LoadAssertion of(String name) {
        return new LoadAssertion(name, figure, operator, value);
    }
}
