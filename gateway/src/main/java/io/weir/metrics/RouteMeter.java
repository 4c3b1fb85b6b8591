package io.weir.metrics;

import static io.weir.metrics.MeterDefinition.counter;
import static io.weir.metrics.MeterDefinition.gauge;
import static io.weir.metrics.MeterDefinition.timer;

/** Meters of requests and of routes. */
public enum RouteMeter implements Meters {
    /** Every answered request, whether the gateway or a backend answered it. */
    REQUESTS(
            timer("weir.requests", "backend", "route", "outcome", "door"),
            "Time from the decoded request head to the last byte of the answer flushed to the caller. The tag outcome"
                    + " is the reason if the gateway answered itself, 'fallback' if a fallback answered, else the"
                    + " class of the backend's status, 1xx to 5xx. Requests refused before their route was known have"
                    + " 'none' as backend, route and door, and so have redirects to https. Preflight requests, and"
                    + " requests answered by a filter or by an unprotected route have 'none' as backend."),
    /** Bytes sent to callers. */
    RESPONSE_BYTES(
            counter("weir.response.bytes", "backend", "route").in("bytes"),
            "Bytes of response bodies sent to callers."),
    /** Only for routes that have used one. */
    LAST_GOOD_ANSWERS(
            counter("weir.last.good.answers", "backend", "route"),
            "Requests that got the route's last good answer in place of a refusal or of a failure status. They have"
                    + " the outcome 'fallback', too."),
    /** Only for routes with an authorizer. */
    AUTHORIZATIONS(
            counter("weir.authorizations", "backend", "route", "result"),
            "Requests of routes with an authorizer, by its result: 'allowed', 'denied'; 'allowed-cached',"
                    + " 'denied-cached': by an earlier answer; 'failed': refused, since the authorizer failed;"
                    + " 'passed': not refused although it failed (on-failure: pass)."),
    /** A route's own limit; only for routes that have one. */
    ROUTE_PERMITS_USED(
            gauge("weir.route.permits.used", "backend", "route"), "Permits in use of the route's own limit."),
    /** A route's own limit; only for routes that have one. */
    ROUTE_PERMITS_LIMIT(
            gauge("weir.route.permits.limit", "backend", "route"), "The route's own limit of concurrent calls."),
    /** The memory of a limit on the calls of each caller; only for routes that have one. */
    CALLER_LIMIT_KEYS(
            gauge("weir.caller.limit.keys", "backend", "route"),
            "Callers with calls under way, of a route with max-concurrent-per-key."),
    /** Shows that callers hold as many calls as they may; only for routes that have such a limit. */
    CALLER_LIMIT_REFUSED(
            counter("weir.caller.limit.refused", "backend", "route"),
            "Calls refused with bulkhead-full, since their callers had as many under way as max-concurrent-per-key"
                    + " allows."),
    /** The memory of a rate limit; only for routes that have one. */
    RATE_LIMIT_KEYS(
            gauge("weir.rate.limit.keys", "backend", "route"),
            "Keys, such as callers' addresses, that the route's rate limit remembers."),
    /** Shows that a rate limit has too few keys; only for routes that have one. */
    RATE_LIMIT_KEYS_FORGOTTEN(
            counter("weir.rate.limit.keys.forgotten", "backend", "route"),
            "Keys that the route's rate limit forgot because of max-keys, although their quota may have been in use."),
    /** Shows whether all gateways count together; only with {@code weir.rate-limit.redis}. */
    RATE_LIMIT_SHARED_UP(
            gauge("weir.rate.limit.shared.up"),
            "1 if Redis answers, so that shared rate limits count over all gateways; 0 if this gateway counts by"
                    + " itself. In a cluster, the share of the slots whose node answers."),
    /** Shows how many requests the missing counter concerns; only with {@code weir.rate-limit.redis}. */
    RATE_LIMIT_LOCAL(
            counter("weir.rate.limit.local"),
            "Requests of shared rate limits that this gateway has counted by itself, since Redis did not answer in"
                    + " time.");

    @SuppressWarnings("ImmutableEnumChecker") // Its list of tags is immutable.
    private final MeterDefinition definition;

    RouteMeter(MeterDefinition definition, String description) {
        this.definition = definition.describedAs(description);
    }

    @Override
    public MeterDefinition definition() {
        return definition;
    }
}
