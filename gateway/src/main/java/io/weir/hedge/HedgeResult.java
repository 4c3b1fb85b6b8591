package io.weir.hedge;

import java.util.Locale;

/** What has come of the hedge of a call that had no answer in time. */
public enum HedgeResult {
    /** The call was sent a second time. */
    STARTED,
    /** The second attempt has answered first, or the first one has failed. */
    WON,
    /** Not sent: the hedge is in dry-run mode. */
    WOULD_START,
    /** Not sent: no other instance takes calls. */
    NO_INSTANCE,
    /** Not sent: no permit was free. */
    NO_PERMIT,
    /** Not sent: calls wait for a permit. */
    QUEUE,
    /** Not sent: a breaker is not closed, or an instance recovers or starts slowly. */
    RECOVERING,
    /** Not sent: the retry budget was empty. */
    BUDGET;

    private final String word = name().toLowerCase(Locale.ROOT).replace('_', '-');

    /** The word for the result, as metrics and the access log show it. */
    public String word() {
        return word;
    }
}
