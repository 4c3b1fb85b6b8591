package io.weir.dashboard;

import io.weir.management.BackendView;

/**
 * How much is wrong with a backend.
 *
 * <p>What callers suffer comes first, by how many of them do; then what an operator has left behind; then what announces
 * itself: calls that take too long, a queue, no permit left.
 *
 * @param score 0: nothing; 100: nobody is served
 * @param word the worst of it: {@code open}, {@code half-open}, {@code failing}, {@code forced-open}, {@code
 *     forced-closed}, {@code hanging}, {@code queueing}, {@code full}, or {@code calm}
 */
record Trouble(int score, String word) {

    static final Trouble NONE = new Trouble(0, "calm");

    private static final int OPEN = 80;
    private static final int HALF_OPEN = 75;
    private static final int FORCED = 60;
    private static final int HANGING = 30;
    private static final int QUEUEING = 25;
    private static final int FULL = 20;
    /** Of the whole share; on top of {@link #FAILING_LEAST}. */
    private static final int FAILING = 35;

    private static final int FAILING_LEAST = 40;
    private static final int WORSE = 20;

    /**
     * What is wrong with a backend.
     *
     * @param troubleShare share of its exchanges that were shed or failed of late; 0 to 1
     */
    static Trouble of(BackendView now, double troubleShare) {
        int suffered = (int) Math.round(WORSE * troubleShare);
        Trouble worst =
                switch (now.breaker().state()) {
                    case "open" -> new Trouble(OPEN + suffered, "open");
                    case "half-open" -> new Trouble(HALF_OPEN + suffered, "half-open");
                    case "forced-open" -> new Trouble(FORCED + suffered, "forced-open");
                    case "forced-closed" -> new Trouble(FORCED, "forced-closed");
                    default -> NONE;
                };
        if (troubleShare > 0) {
            worst = worse(worst, new Trouble(FAILING_LEAST + (int) Math.round(FAILING * troubleShare), "failing"));
        }
        BackendView.Calls calls = now.calls();
        if (now.breaker().overdue() > 0) {
            worst = worse(worst, new Trouble(HANGING, "hanging"));
        }
        if (calls.waiting() > 0) {
            worst = worse(worst, new Trouble(QUEUEING, "queueing"));
        }
        if (calls.active() >= calls.limit()) {
            worst = worse(worst, new Trouble(FULL, "full"));
        }
        return worst;
    }

    private static Trouble worse(Trouble one, Trouble other) {
        return other.score > one.score ? other : one;
    }
}
