package io.weir.metrics;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Every meter that the gateway defines: name, kind, unit, tags and description. All meters are created from
 * here.
 *
 * <p>Names are Micrometer's, with dots; {@link #prometheusNames()} gives the names in a Prometheus scrape.
 * The values of all tags are bounded by the configuration or by an enum: a path, a header or a caller's
 * address is never a tag. The tag {@code instance} is the address of a backend's instance. Prometheus calls
 * that label {@code exported_instance}, since {@code instance} is the gateway there.
 *
 * <p>A scrape also has Resilience4j's meters ({@code resilience4j_circuitbreaker_*}, {@code
 * resilience4j_bulkhead_*}) and the JVM's. The list stays whole although it has more than 400 lines.
 */
public enum Meters {
    /** Every answered request, whether the gateway or a backend answered it. */
    REQUESTS(
            "weir.requests",
            Kind.TIMER,
            null,
            "Time from the decoded request head to the last byte of the answer flushed to the caller."
                    + " The tag outcome is the reason if the gateway answered itself, 'fallback' if a fallback"
                    + " answered, else the class of the backend's status, 1xx to 5xx. Requests refused before"
                    + " their route was known have 'none' as backend, route and door, and so have redirects to"
                    + " https. Preflight requests, and requests answered by a filter or by an unprotected route"
                    + " have 'none' as backend.",
            "backend",
            "route",
            "outcome",
            "door"),
    /** Bytes sent to callers. */
    RESPONSE_BYTES(
            "weir.response.bytes",
            Kind.COUNTER,
            "bytes",
            "Bytes of response bodies sent to callers.",
            "backend",
            "route"),
    /** A route's own limit; only for routes that have one. */
    ROUTE_PERMITS_USED(
            "weir.route.permits.used",
            Kind.GAUGE,
            null,
            "Permits in use of the route's own limit.",
            "backend",
            "route"),
    /** A route's own limit; only for routes that have one. */
    ROUTE_PERMITS_LIMIT(
            "weir.route.permits.limit",
            Kind.GAUGE,
            null,
            "The route's own limit of concurrent calls.",
            "backend",
            "route"),
    /** The memory of a rate limit; only for routes that have one. */
    RATE_LIMIT_KEYS(
            "weir.rate.limit.keys",
            Kind.GAUGE,
            null,
            "Keys, such as callers' addresses, that the route's rate limit remembers.",
            "backend",
            "route"),
    /** Shows that a rate limit has too few keys; only for routes that have one. */
    RATE_LIMIT_KEYS_FORGOTTEN(
            "weir.rate.limit.keys.forgotten",
            Kind.COUNTER,
            null,
            "Keys that the route's rate limit forgot because of max-keys, although their quota may have been in use.",
            "backend",
            "route"),
    /** Shows whether all gateways count together; only with {@code weir.rate-limit.redis}. */
    RATE_LIMIT_SHARED_UP(
            "weir.rate.limit.shared.up",
            Kind.GAUGE,
            null,
            "1 if Redis answers, so that shared rate limits count over all gateways; 0 if this gateway counts by itself."
                    + " In a cluster, the share of the slots whose node answers."),
    /** Shows how many requests the missing counter concerns; only with {@code weir.rate-limit.redis}. */
    RATE_LIMIT_LOCAL(
            "weir.rate.limit.local",
            Kind.COUNTER,
            null,
            "Requests of shared rate limits that this gateway has counted by itself, since Redis did not answer in time."),
    /** Requests refused to protect a backend or the gateway. */
    SHED(
            "weir.shed",
            Kind.COUNTER,
            null,
            "Requests that the gateway refused with a 503 to protect the backend or itself, by reason and by"
                    + " priority: critical, normal or sheddable.",
            "backend",
            "reason",
            "priority"),
    /** The effect that a limit in dry-run mode would have. */
    WOULD_REFUSE(
            "weir.would.refuse",
            Kind.COUNTER,
            null,
            "Requests that a protection in dry-run mode would have refused, by reason.",
            "backend",
            "reason"),
    /** The effect of an operator's chaos experiments. */
    FAULTS_INJECTED(
            "weir.faults.injected",
            Kind.COUNTER,
            null,
            "Attempts that got a fault which an operator has injected, by fault: latency, abort, hang, reset or"
                    + " truncate.",
            "backend",
            "fault"),
    /** Shows that a chaos experiment is under way. */
    FAULTS_ACTIVE("weir.faults.active", Kind.GAUGE, null, "Injected faults that are active now."),
    /** The share of each priority, if the calls do not all fit. */
    PERMITS_GRANTED(
            "weir.permits.granted",
            Kind.COUNTER,
            null,
            "Calls that got a permit, by priority: critical, normal or sheddable. Retries and fallbacks have the"
                    + " next lower priority.",
            "backend",
            "priority"),
    /** The waiting calls of each priority. */
    QUEUE_WAITING(
            "weir.queue.waiting",
            Kind.GAUGE,
            null,
            "Calls that wait for a permit, by priority: critical, normal or sheddable.",
            "backend",
            "priority"),
    /** The cost of a full bulkhead for the calls that it admits. */
    QUEUE_WAIT(
            "weir.queue.wait",
            Kind.TIMER,
            null,
            "Time that calls waited for their permit. Refused calls are not counted.",
            "backend"),
    /** Shows whether calls are sent with enough time to be answered. */
    BUDGET_LEFT(
            "weir.budget.left", Kind.TIMER, null, "Time left of the deadline when a call got its permit.", "backend"),
    /** Time of calls in the backend. */
    SERVICE_TIME(
            "weir.service.time",
            Kind.TIMER,
            null,
            "Time of calls in the backend, all attempts together, without streams, and without the time"
                    + " of waiting for their callers.",
            "backend"),
    /** Retries, and whether the budget allowed them. */
    RETRIES(
            "weir.retries",
            Kind.COUNTER,
            null,
            "Retries wanted, by the verdict of the retry budget: allowed or denied.",
            "backend",
            "verdict"),
    /** Calls in the backend. */
    PERMITS_USED("weir.permits.used", Kind.GAUGE, null, "Permits of the bulkhead in use.", "backend"),
    /** The limit of calls in the backend. */
    PERMITS_LIMIT(
            "weir.permits.limit",
            Kind.GAUGE,
            null,
            "Limit of concurrent calls in force: the lowest of weir_limit, of an operator's limit, and of the"
                    + " ceiling while the backend recovers.",
            "backend"),
    /** The limit, apart from an operator's and from the ramp of a recovering backend. */
    LIMIT(
            "weir.limit",
            Kind.GAUGE,
            null,
            "Limit of concurrent calls that auto has found, or that the configuration fixes."
                    + " weir_permits_limit is the one in force.",
            "backend"),
    /** The floor. */
    LIMIT_MIN(
            "weir.limit.min",
            Kind.GAUGE,
            null,
            "Smallest limit that auto may find; of a fixed limit, its number.",
            "backend"),
    /** The ceiling. */
    LIMIT_MAX(
            "weir.limit.max",
            Kind.GAUGE,
            null,
            "Largest limit that auto may find; of a fixed limit, its number.",
            "backend"),
    /** Why the limit moves. */
    LIMIT_CHANGES(
            "weir.limit.changes",
            Kind.COUNTER,
            null,
            "Changes of the limit by auto, by reason: growth, growth-reverted, queueing, shedding, timeouts,"
                    + " recovery, or probe (lowered for a moment, to measure the latency).",
            "backend",
            "reason"),
    /** With the rate of answers, the basis of the limit. */
    LIMIT_BASE_LATENCY(
            "weir.limit.base.latency",
            Kind.GAUGE,
            "seconds",
            "Latency of the backend while calls do not queue in it, as auto has measured it; 0 if not known.",
            "backend"),
    /** With the base latency, the basis of the limit. */
    LIMIT_ANSWER_RATE(
            "weir.limit.answer.rate",
            Kind.GAUGE,
            null,
            "Answers of the backend per second while the limit was reached, as auto has measured it; 0 if not known.",
            "backend"),
    /** Whether the limit is the bottleneck. */
    LIMIT_UTILISATION(
            "weir.limit.utilisation",
            Kind.GAUGE,
            "ratio",
            "Share of the calls that ended while the limit was reached, in the last window of auto; 0 if not known.",
            "backend"),
    /** Shows that all gateways together may exceed a limit of scope cluster. */
    PERMITS_FLOORED(
            "weir.permits.floored",
            Kind.GAUGE,
            null,
            "1 if this gateway's share of a limit of scope cluster was rounded up to one permit.",
            "backend"),
    /** Calls that wait for the backend. */
    QUEUE_LENGTH("weir.queue.length", Kind.GAUGE, null, "Calls that wait for a permit.", "backend"),
    /** The limit of calls that wait for the backend. */
    QUEUE_CAPACITY("weir.queue.capacity", Kind.GAUGE, null, "Limit of calls that wait for a permit.", "backend"),
    /** The limit of the wait. */
    QUEUE_WAIT_LIMIT(
            "weir.queue.wait.limit",
            Kind.GAUGE,
            "seconds",
            "Longest time that a call may wait for a permit.",
            "backend"),
    /** Streams and WebSockets. */
    STREAMS_USED(
            "weir.streams.used",
            Kind.GAUGE,
            null,
            "Open streams and WebSockets, and calls that their callers hold up.",
            "backend"),
    /** The limit of streams and WebSockets. */
    STREAMS_LIMIT("weir.streams.limit", Kind.GAUGE, null, "Limit of open streams and WebSockets.", "backend"),
    /** What a backend sent against HTTP, for which only its connection was closed. */
    BACKEND_VIOLATIONS(
            "weir.backend.violations",
            Kind.COUNTER,
            null,
            "Violations of HTTP by the backend, each of which ended a connection, but no call.",
            "backend",
            "kind"),
    /** Calls outside the limit. */
    CALLS_MOVED(
            "weir.calls.moved",
            Kind.COUNTER,
            null,
            "Calls with a place in the compartment of streams instead of a permit: held-up by their callers; left-behind,"
                    + " since the backend answered calls that it got much later; scout, sent while it answered none of"
                    + " those with permits.",
            "backend",
            "reason"),
    /** The breaker's state; exactly one of the series is 1. */
    BREAKER_STATE(
            "weir.breaker.state",
            Kind.GAUGE,
            null,
            "1 for the present state of the circuit breaker, 0 for the others: closed, open,"
                    + " half-open, forced-open, forced-closed.",
            "backend",
            "state"),
    /** Whether an operator holds the breaker. */
    BREAKER_FORCED(
            "weir.breaker.forced",
            Kind.GAUGE,
            null,
            "1 while an operator forces the circuit breaker open or closed.",
            "backend"),
    /** Whether an open breaker refuses calls; an alert leaves the others out. */
    BREAKER_ENFORCED(
            "weir.breaker.enforced",
            Kind.GAUGE,
            null,
            "1 if an open circuit breaker refuses calls, 0 if it only counts them (enforce: false).",
            "backend"),
    /** Probes of an open breaker. */
    BREAKER_PROBES(
            "weir.breaker.probes",
            Kind.GAUGE,
            null,
            "Probes in flight that test whether the backend has recovered.",
            "backend"),
    /** The first sign of a hang. */
    CALLS_OVERDUE(
            "weir.calls.overdue",
            Kind.GAUGE,
            null,
            "Calls in flight that have waited for their answer for stall-duration.",
            "backend"),
    /** Connections to the backend. */
    POOL_CONNECTIONS(
            "weir.pool.connections",
            Kind.GAUGE,
            null,
            "Connections to the backend, by state: acquired or idle.",
            "backend",
            "state"),
    /** Normally near 0, since a permit guarantees a connection; a lasting value is a defect. */
    POOL_PENDING("weir.pool.pending", Kind.GAUGE, null, "Calls with a permit that wait for a connection.", "backend"),
    /** The limit of connections to the backend. */
    POOL_LIMIT("weir.pool.limit", Kind.GAUGE, null, "Limit of connections to the backend.", "backend"),
    /** The state of each of several instances; of a series, exactly one state is 1. */
    INSTANCE_STATE(
            "weir.instance.state",
            Kind.GAUGE,
            null,
            "Of a backend with several instances, 1 for the present state of the instance, 0 for the others: closed,"
                    + " open, half-open, drained, forced-open, forced-closed. The tag instance is its address, at most"
                    + " 256 for each backend; 'others' counts the rest.",
            "backend",
            "instance",
            "state"),
    /** The configured share of an instance. */
    INSTANCE_WEIGHT(
            "weir.instance.weight",
            Kind.GAUGE,
            null,
            "Weight of the instance: its share of the calls, relative to the other weights.",
            "backend",
            "instance"),
    /** The load of an instance. */
    INSTANCE_IN_FLIGHT(
            "weir.instance.inflight",
            Kind.GAUGE,
            null,
            "Calls in the instance that its breaker has let in since it last opened.",
            "backend",
            "instance"),
    /** The results of an instance. */
    INSTANCE_CALLS(
            "weir.instance.calls",
            Kind.COUNTER,
            null,
            "Calls to the instance, by outcome: answered or failed. A failed one was answered with a failure or a sign"
                    + " of overload, or timed out, or lost its connection. Calls whose callers left are not counted.",
            "backend",
            "instance",
            "outcome"),
    /** The latency by which calls are distributed. */
    INSTANCE_LATENCY(
            "weir.instance.latency",
            Kind.GAUGE,
            "seconds",
            "Usual latency of the instance, by which the calls are distributed: it rises at once and falls"
                    + " with faster answers; 0 if not known. Of 'others', the highest one.",
            "backend",
            "instance"),
    /** Shows an instance that fails again and again. */
    INSTANCE_EJECTIONS(
            "weir.instance.ejections",
            Kind.COUNTER,
            null,
            "Times that the instance got no more calls, since it failed and others did not.",
            "backend",
            "instance"),
    /** Connections to an instance. */
    INSTANCE_CONNECTIONS(
            "weir.instance.connections",
            Kind.GAUGE,
            null,
            "Connections to the instance, by state: acquired or idle.",
            "backend",
            "instance",
            "state"),
    /** Shows that the addresses of a backend are no longer looked up. */
    ADDRESSES_STALE(
            "weir.addresses.stale",
            Kind.GAUGE,
            "seconds",
            "Time for which the look-ups of the backend's addresses, in DNS or the discovery, have failed in a row. The"
                    + " last known addresses stay in use. 0 if the last look-up succeeded, or if the addresses are listed.",
            "backend"),
    /** The balance of the retry budget. */
    RETRY_BUDGET("weir.retry.budget", Kind.GAUGE, null, "Retries that the retry budget allows now.", "backend"),
    /** λ. */
    LAW_ARRIVAL_RATE(
            "weir.law.arrival.rate",
            Kind.GAUGE,
            null,
            "Little's law: calls that the backend serves per second.",
            "backend"),
    /** W, in the backend. */
    LAW_SERVICE_TIME(
            "weir.law.service.time",
            Kind.GAUGE,
            "seconds",
            "Little's law: mean time of a call in the backend.",
            "backend"),
    /** W, in the queue. */
    LAW_WAITING_TIME(
            "weir.law.waiting.time",
            Kind.GAUGE,
            "seconds",
            "Little's law: mean time of a call in the queue.",
            "backend"),
    /** L, in the backend. */
    LAW_ACTIVE_CALLS(
            "weir.law.active.calls",
            Kind.GAUGE,
            null,
            "Little's law: arrival rate times service time, to compare with the limit.",
            "backend"),
    /** The dead-time ratio. */
    LAW_WAITING_RATIO(
            "weir.law.waiting.ratio",
            Kind.GAUGE,
            "ratio",
            "Little's law: share of the response time that a call spends in the queue.",
            "backend"),
    /** W in the backend, without congestion. */
    LAW_UNCONGESTED_TIME(
            "weir.law.uncongested.time",
            Kind.GAUGE,
            "seconds",
            "Little's law: mean time of a call in the backend without congestion, with auto its base latency; 0 if"
                    + " not known.",
            "backend"),
    /** The limit that the law suggests. */
    LAW_SUGGESTED_LIMIT(
            "weir.law.suggested.limit",
            Kind.GAUGE,
            null,
            "Little's law: with auto, its limit; else the limit that the present calls need; 0 if not known, or if"
                    + " the calls are too few to say.",
            "backend"),
    /** Callers' connections. */
    CONNECTIONS_OPEN("weir.connections.open", Kind.GAUGE, null, "Open connections of callers."),
    /** The limit of callers' connections. */
    CONNECTIONS_LIMIT("weir.connections.limit", Kind.GAUGE, null, "Limit of open connections of callers."),
    /** Connections over the limit. */
    CONNECTIONS_REJECTED(
            "weir.connections.rejected",
            Kind.COUNTER,
            null,
            "Connections of callers closed at once because of the limit."),
    /** Addresses that are counted for the limits per client. */
    CLIENTS("weir.clients", Kind.GAUGE, null, "Client addresses that have a connection or a request under way."),
    /** The limit of connections of one client address. */
    CLIENT_CONNECTIONS_LIMIT(
            "weir.client.connections.limit", Kind.GAUGE, null, "Limit of open connections of one client address."),
    /** Connections over the limit of their client address. */
    CLIENT_CONNECTIONS_REJECTED(
            "weir.client.connections.rejected",
            Kind.COUNTER,
            null,
            "Connections closed at once because of the limit of their client address. The log names the address."),
    /** The limit of requests of one client address. */
    CLIENT_REQUESTS_LIMIT(
            "weir.client.requests.limit", Kind.GAUGE, null, "Limit of requests under way of one client address."),
    /** Requests over the limit of their client address. */
    CLIENT_REQUESTS_REFUSED(
            "weir.client.requests.refused",
            Kind.COUNTER,
            null,
            "Requests refused because of the limit of their client address. The log names the address."),
    /** Connections that ended because of a flood. */
    CONNECTIONS_FLOODED(
            "weir.connections.flooded",
            Kind.COUNTER,
            null,
            "HTTP/2 connections ended because their callers flooded them with frames."),
    /** Shows a trusted proxy that sets a priority which does not exist. */
    PRIORITY_IGNORED(
            "weir.priority.ignored",
            Kind.COUNTER,
            null,
            "Requests whose priority from a trusted proxy was ignored: an unknown word, or more than one value."),
    /** TLS handshakes that failed. */
    HANDSHAKES_FAILED(
            "weir.handshakes.failed",
            Kind.COUNTER,
            null,
            "TLS handshakes of callers that failed, or that the callers broke off."),
    /** All requests in the gateway. */
    IN_FLIGHT(
            "weir.inflight",
            Kind.GAUGE,
            null,
            "Requests in the gateway, queued or sent to a backend, streams included."),
    /** The limit of requests in the gateway. */
    IN_FLIGHT_LIMIT("weir.inflight.limit", Kind.GAUGE, null, "Limit of requests in the gateway."),
    /** Bodies of requests in memory. */
    READ_AHEAD(
            "weir.read.ahead",
            Kind.GAUGE,
            "bytes",
            "Bytes of request bodies that are read but not sent to a backend yet."),
    /** The limit of bodies of requests in memory. */
    READ_AHEAD_LIMIT(
            "weir.read.ahead.limit", Kind.GAUGE, "bytes", "Limit of the bytes of request bodies that are read ahead."),
    /** Shows that the gateway itself is slow. */
    EVENT_LOOP_DELAY(
            "weir.eventloop.delay",
            Kind.GAUGE,
            "seconds",
            "Standing delay of the slowest event loop: the shortest of its last iterations, on Linux without its wait"
                    + " for a processor; 0 if it has none."),
    /** The effect of the gateway's protection of its event loops. */
    OVERLOAD_SHARE(
            "weir.overload.share",
            Kind.GAUGE,
            "ratio",
            "Share of new requests that an event loop refuses because of its standing delay; the highest of all"
                    + " event loops."),
    /** The requests that the gateway refused to protect itself. */
    OVERLOAD_REFUSED(
            "weir.overload.refused",
            Kind.COUNTER,
            null,
            "Requests refused with gateway-overloaded, by cause (event-loop-delay, in-flight, memory) and priority."
                    + " Requests whose priority is not known yet count as normal.",
            "cause",
            "priority"),
    /** Shows that connections get no answer. */
    EVENT_LOOPS_STUCK("weir.eventloop.stuck", Kind.GAUGE, null, "Event loops that have run no task for 5 s."),
    /** Shows that the gateway itself is full. */
    MEMORY_USED(
            "weir.memory.used",
            Kind.GAUGE,
            "ratio",
            "Share of memory in use, by area: direct memory, or heap in use after a garbage" + " collection.",
            "area"),
    /** Shows that the gateway is shutting down. */
    DRAINING("weir.draining", Kind.GAUGE, null, "1 from the announcement of the shutdown on."),
    /** Changes of the configuration. */
    RELOADS(
            "weir.reloads",
            Kind.COUNTER,
            null,
            "Changes of the configuration, by result: applied, unchanged (equal to the one in force)," + " refused.",
            "result"),
    /** Shows that the files need a correction. */
    RELOAD_REFUSED(
            "weir.reload.refused",
            Kind.GAUGE,
            null,
            "1 while the files contain a configuration that was refused; the previous one stays in" + " force."),
    /** To compare with the time of an incident. */
    RELOAD_CHANGED_AT(
            "weir.reload.changed.at",
            Kind.GAUGE,
            "seconds",
            "Time when the configuration in force was applied, in seconds since 1970."),
    /** To compare the gateways of a job; a number and no tag, so that a change adds no time series. */
    CONFIGURATION_HASH(
            "weir.configuration.hash",
            Kind.GAUGE,
            null,
            "Hash of the values in the files of the configuration in force, 48 bits as a number; equal for gateways"
                    + " with the same configuration."),
    /** The end of the validity of each certificate in use. */
    TLS_EXPIRES_AT(
            "weir.tls.expires.at",
            Kind.GAUGE,
            "seconds",
            "Time when a certificate of an SSL bundle expires, in seconds since 1970; of a chain, the"
                    + " certificate that expires first. The tag store is key or trust, certificate is the alias.",
            "bundle",
            "store",
            "certificate"),
    /** Replacements of certificates. */
    TLS_ROTATIONS(
            "weir.tls.rotations",
            Kind.COUNTER,
            null,
            "Changes of the files of an SSL bundle, by result: applied, refused.",
            "bundle",
            "result"),
    /** Shows that the files of a bundle need a correction. */
    TLS_REFUSED(
            "weir.tls.refused",
            Kind.GAUGE,
            null,
            "1 while the files of an SSL bundle contain material that was refused; the previous one stays in use.",
            "bundle"),
    /** Shows whether the tokens of an issuer can be verified. */
    ISSUER_KEYS(
            "weir.issuer.keys",
            Kind.GAUGE,
            null,
            "Keys of an issuer of tokens that are in force; 0: none were ever known, and its tokens are refused.",
            "issuer"),
    /** Shows that the keys of an issuer may be outdated. */
    ISSUER_FAILING(
            "weir.issuer.failing",
            Kind.GAUGE,
            "seconds",
            "Time since the keys of an issuer of tokens cannot be fetched; 0: the last fetch has succeeded.",
            "issuer"),
    /** Fetches of keys. */
    ISSUER_FETCHES(
            "weir.issuer.fetches",
            Kind.COUNTER,
            null,
            "Fetches of the keys of an issuer of tokens, by result: fetched, partial (some keys cannot be read, and are"
                    + " skipped), failed.",
            "issuer",
            "result"),
    /** Tokens of callers. */
    TOKENS(
            "weir.tokens",
            Kind.COUNTER,
            null,
            "Tokens of an issuer, by result: cached (accepted, as its signature was verified before), verified"
                    + " (accepted after its signature was verified), refused.",
            "issuer",
            "result"),
    /** The divisor of limits of scope cluster. */
    CLUSTER_GATEWAYS(
            "weir.cluster.gateways",
            Kind.GAUGE,
            null,
            "Gateways that share the limits of scope cluster, according to DNS; 0 before the first"
                    + " answer of DNS, while the initial number applies."),
    /** Shows that the number of gateways may be outdated. */
    CLUSTER_FAILURES(
            "weir.cluster.failures",
            Kind.COUNTER,
            null,
            "Failed updates of the shares of limits of scope cluster: DNS lookup failed, or the"
                    + " limits were not changed."),
    /** Lost lines of the access log. */
    ACCESS_LOG_DROPPED(
            "weir.access.log.dropped",
            Kind.COUNTER,
            null,
            "Lines of the access log that were dropped and not written."),
    /** Lost lines of the gateway's own log. */
    LOG_DROPPED(
            "weir.log.dropped",
            Kind.COUNTER,
            null,
            "Lines of the gateway's own log and of standard error that were dropped and not written."),
    /** Which builds run; to compare before and after an upgrade. */
    BUILD(
            "weir.build.info",
            Kind.GAUGE,
            null,
            "1; the tags are the version of the gateway and that of its Java.",
            "version",
            "java"),
    /** Exported and lost spans. */
    SPANS(
            "weir.spans",
            Kind.COUNTER,
            null,
            "Spans, by result: exported, dropped (the queue was full), failed (the collector did not"
                    + " accept them). None while tracing is off.",
            "result");

    /** The kind of a meter. */
    public enum Kind {
        /** Number and duration of events, as a histogram. */
        TIMER,
        /** A total since the start. */
        COUNTER,
        /** A present value. */
        GAUGE
    }

    /**
     * The upper bounds of the buckets of all timers, from a refusal's millisecond to the longest wait at an
     * edge. Neighbours differ by a factor of at most 2.5, which bounds the error of a quantile computed from
     * them.
     */
    static final List<Duration> BUCKETS = Stream.of(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
            .map(Duration::ofMillis)
            .toList();

    private final String meterName;
    private final Kind kind;
    private final @Nullable String unit;
    private final String description;

    @SuppressWarnings("ImmutableEnumChecker") // List.of is immutable.
    private final List<String> tags;

    Meters(String meterName, Kind kind, @Nullable String unit, String description, String... tags) {
        this.meterName = meterName;
        this.kind = kind;
        this.unit = unit;
        this.description = description;
        this.tags = List.of(tags);
    }

    /** The name in Micrometer. */
    public String meterName() {
        return meterName;
    }

    /** The kind. */
    public Kind kind() {
        return kind;
    }

    /** The base unit; seconds for timers, null for plain numbers. */
    public @Nullable String unit() {
        return kind == Kind.TIMER ? "seconds" : unit;
    }

    /** The help text of a scrape. */
    public String description() {
        return description;
    }

    /** The keys of the tags, in the order of their values. */
    public List<String> tags() {
        return tags;
    }

    /** The names of the samples in a Prometheus scrape. */
    public List<String> prometheusNames() {
        String base = meterName.replace('.', '_').toLowerCase(Locale.ROOT);
        String unitName = unit();
        if (unitName != null && !base.endsWith('_' + unitName)) {
            base = base + '_' + unitName;
        }
        return switch (kind) {
            case TIMER -> List.of(base + "_bucket", base + "_count", base + "_sum", base + "_max");
            case COUNTER -> List.of(base + "_total");
            case GAUGE -> List.of(base);
        };
    }
}
