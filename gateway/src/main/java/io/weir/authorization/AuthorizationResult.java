package io.weir.authorization;

import java.util.Locale;

/** How the authorization of a request has ended. */
public enum AuthorizationResult {
    /** The authorizer allows the request. */
    ALLOWED,
    /** An earlier answer of the authorizer allows it. */
    ALLOWED_CACHED,
    /** The authorizer denies it; the caller gets its answer. */
    DENIED,
    /** An earlier answer of the authorizer denies it; the caller gets that answer. */
    DENIED_CACHED,
    /** The authorizer has failed, and the request is refused. */
    FAILED,
    /** The authorizer has failed, and the request goes on. */
    PASSED;

    /** The word in metrics. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
