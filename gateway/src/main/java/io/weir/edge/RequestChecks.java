package io.weir.edge;

import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * The checks of a request head that HTTP/1 and HTTP/2 have in common, each with its refusal. Pure functions.
 */
final class RequestChecks {

    private RequestChecks() {}

    /** The refusal of {@code CONNECT}: the gateway is no forward proxy. */
    static Refusal connectMethod() {
        return Refusal.of(Reason.BAD_REQUEST, "method: CONNECT (expected: one that is not meant for proxies)");
    }

    /** The refusal of a head with too many fields; null if the number is within the limit. */
    static @Nullable Refusal checkFieldCount(int fields, EdgeRules rules) {
        if (fields <= rules.maxHeaderCount()) {
            return null;
        }
        return Refusal.of(
                Reason.HEADERS_TOO_LARGE, "fields: " + fields + " (expected: at most " + rules.maxHeaderCount() + ")");
    }

    static Refusal headerSectionTooLarge(EdgeRules rules) {
        return Refusal.of(Reason.HEADERS_TOO_LARGE, "header section: larger than " + rules.maxHeaderSize() + " bytes");
    }

    static Refusal missingHost() {
        return Refusal.of(Reason.BAD_REQUEST, "host: missing (expected: one)");
    }

    static Refusal severalHosts() {
        return Refusal.of(Reason.BAD_REQUEST, "host: more than one (expected: one)");
    }
}
