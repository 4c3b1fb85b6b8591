package io.weir.metrics;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Every meter of the gateway's own: name, kind, unit, tags and meaning, in the one place that they are created from.
 *
 * <p>Names are Micrometer's, with dots; {@link #prometheusNames()} has them as a scrape shows them. All tags are
 * bounded by the configuration or by an enum: a path, a header or an address is never a tag.
 *
 * <p>Beside these stand Resilience4j's own ({@code resilience4j_circuitbreaker_*}, {@code resilience4j_bulkhead_*}) and
 * the JVM's.
 */
public enum Meters {
    /** All that was ever answered, by the gateway or through it. */
    REQUESTS(
            "weir.requests",
            Kind.TIMER,
            null,
            "Time of an exchange, from the decoded head to the answer's last byte flushed. The outcome is the reason's"
                    + " word if the gateway answered itself, 'fallback', or 1xx to 5xx for the status that was passed on."
                    + " Refused before a route was known: backend, route and door are 'none'. Answered without an"
                    + " exchange, by a filter or an unprotected route: backend is 'none'.",
            "backend",
            "route",
            "outcome",
            "door"),
    /** What leaves the gateway towards callers. */
    RESPONSE_BYTES(
            "weir.response.bytes",
            Kind.COUNTER,
            "bytes",
            "Bytes of answers' bodies sent to callers.",
            "backend",
            "route"),
    /** A route's own cap, where it has one. */
    ROUTE_PERMITS_USED(
            "weir.route.permits.used",
            Kind.GAUGE,
            null,
            "Permits of the route's own limit in use.",
            "backend",
            "route"),
    /** A route's own cap, where it has one. */
    ROUTE_PERMITS_LIMIT(
            "weir.route.permits.limit",
            Kind.GAUGE,
            null,
            "Permits that the route's own limit has.",
            "backend",
            "route"),

    /** Who was sent away to protect the backend or the gateway. */
    SHED(
            "weir.shed",
            Kind.COUNTER,
            null,
            "Exchanges shed with a 503 of the gateway's own, by reason.",
            "backend",
            "reason"),
    /** What a limit that is tried out would do. */
    WOULD_REFUSE(
            "weir.would.refuse",
            Kind.COUNTER,
            null,
            "Exchanges that went on, and would have been refused if the protection were enforced, by reason.",
            "backend",
            "reason"),
    /** The price of a full bulkhead for those who got through. */
    QUEUE_WAIT("weir.queue.wait", Kind.TIMER, null, "Time that a call waited for the permit it got.", "backend"),
    /** Whether calls are sent with enough time to be answered. */
    BUDGET_LEFT(
            "weir.budget.left",
            Kind.TIMER,
            null,
            "What was left of the deadline when a call was dispatched.",
            "backend"),
    /** How long calls are in the backend. */
    SERVICE_TIME(
            "weir.service.time",
            Kind.TIMER,
            null,
            "Time that a call held its permit, all attempts together; streams excepted.",
            "backend"),
    /** How much is tried again. */
    RETRIES(
            "weir.retries",
            Kind.COUNTER,
            null,
            "Retries that were wanted, by what the retry budget said: allowed or denied.",
            "backend",
            "verdict"),
    /** Calls in the backend. */
    PERMITS_USED("weir.permits.used", Kind.GAUGE, null, "Permits of the bulkhead in use.", "backend"),
    /** The cap on calls in the backend. */
    PERMITS_LIMIT("weir.permits.limit", Kind.GAUGE, null, "Permits that the bulkhead has.", "backend"),
    /** Whether all gateways together may have more than the limit that is theirs together. */
    PERMITS_FLOORED(
            "weir.permits.floored",
            Kind.GAUGE,
            null,
            "1 while the share of a limit of scope cluster would be less than one permit, and is one.",
            "backend"),
    /** Calls in front of the backend. */
    QUEUE_LENGTH("weir.queue.length", Kind.GAUGE, null, "Calls waiting for a permit.", "backend"),
    /** The cap on calls in front of the backend. */
    QUEUE_CAPACITY("weir.queue.capacity", Kind.GAUGE, null, "Calls that may wait for a permit.", "backend"),
    /** How long is too long to wait. */
    QUEUE_WAIT_LIMIT(
            "weir.queue.wait.limit", Kind.GAUGE, "seconds", "Longest that a call may wait for a permit.", "backend"),
    /** Streams and WebSockets. */
    STREAMS_USED("weir.streams.used", Kind.GAUGE, null, "Streams and WebSockets under way.", "backend"),
    /** The cap on streams and WebSockets. */
    STREAMS_LIMIT("weir.streams.limit", Kind.GAUGE, null, "Streams and WebSockets that may be under way.", "backend"),
    /** One of them is 1. */
    BREAKER_STATE(
            "weir.breaker.state",
            Kind.GAUGE,
            null,
            "1 for the state that the breaker is in: closed, open, half-open, forced-open, forced-closed.",
            "backend",
            "state"),
    /** Whether a person holds the breaker. */
    BREAKER_FORCED(
            "weir.breaker.forced",
            Kind.GAUGE,
            null,
            "1 while an operator holds the breaker open or closed.",
            "backend"),
    /** Recovery's trickle. */
    BREAKER_PROBES(
            "weir.breaker.probes",
            Kind.GAUGE,
            null,
            "Probes under way to find out whether the backend is back.",
            "backend"),
    /** The first sign of a hang. */
    CALLS_OVERDUE(
            "weir.calls.overdue",
            Kind.GAUGE,
            null,
            "Calls under way that have had the slow-call threshold already.",
            "backend"),
    /** Connections to the backend. */
    POOL_CONNECTIONS(
            "weir.pool.connections",
            Kind.GAUGE,
            null,
            "Connections to the backend, by state: acquired or idle.",
            "backend",
            "state"),
    /** More than a moment's is a defect. */
    POOL_PENDING(
            "weir.pool.pending", Kind.GAUGE, null, "Calls that have a permit and wait for a connection.", "backend"),
    /** The cap on connections to the backend. */
    POOL_LIMIT("weir.pool.limit", Kind.GAUGE, null, "Connections to the backend that may be open.", "backend"),
    /** What the retry budget has saved up. */
    RETRY_BUDGET("weir.retry.budget", Kind.GAUGE, null, "Retries that the budget's share would allow now.", "backend"),

    /** Lambda. */
    LAW_ARRIVAL_RATE(
            "weir.law.arrival.rate",
            Kind.GAUGE,
            null,
            "Little's law: calls that the backend serves per second.",
            "backend"),
    /** W, in the backend. */
    LAW_SERVICE_TIME(
            "weir.law.service.time", Kind.GAUGE, "seconds", "Little's law: mean time in the backend.", "backend"),
    /** W, in front of the backend. */
    LAW_WAITING_TIME(
            "weir.law.waiting.time", Kind.GAUGE, "seconds", "Little's law: mean time in the queue.", "backend"),
    /** L, in the backend. */
    LAW_ACTIVE_CALLS(
            "weir.law.active.calls",
            Kind.GAUGE,
            null,
            "Little's law: rate times service time, to compare with the limit.",
            "backend"),
    /** How much of the response time is queueing. */
    LAW_WAITING_RATIO(
            "weir.law.waiting.ratio",
            Kind.GAUGE,
            "ratio",
            "Little's law: share of the time that is spent waiting.",
            "backend"),
    /** W without congestion. */
    LAW_UNCONGESTED_TIME(
            "weir.law.uncongested.time",
            Kind.GAUGE,
            "seconds",
            "Little's law: mean time in the backend when it was calmest of late; 0 while unknown.",
            "backend"),
    /** What the bulkhead could be. */
    LAW_SUGGESTED_LIMIT(
            "weir.law.suggested.limit",
            Kind.GAUGE,
            null,
            "Little's law: rate times uncongested time times headroom, rounded up; 0 while unknown.",
            "backend"),

    /** Callers' connections. */
    CONNECTIONS_OPEN("weir.connections.open", Kind.GAUGE, null, "Callers' connections that are open."),
    /** The cap on callers' connections. */
    CONNECTIONS_LIMIT("weir.connections.limit", Kind.GAUGE, null, "Callers' connections that may be open."),
    /** Callers that came over the cap. */
    CONNECTIONS_REJECTED(
            "weir.connections.rejected",
            Kind.COUNTER,
            null,
            "Callers' connections closed at once because of the limit."),
    /** All of the gateway's work. */
    IN_FLIGHT("weir.inflight", Kind.GAUGE, null, "Exchanges in the gateway, waiting or dispatched, streams included."),
    /** The cap on all of the gateway's work. */
    IN_FLIGHT_LIMIT("weir.inflight.limit", Kind.GAUGE, null, "Exchanges that may be in the gateway."),
    /** Whether the gateway itself is slow. */
    EVENT_LOOP_DELAY(
            "weir.eventloop.delay", Kind.GAUGE, "seconds", "Delay that the worst event loop runs its tasks with."),
    /** Whether the gateway itself is full. */
    MEMORY_USED(
            "weir.memory.used",
            Kind.GAUGE,
            "ratio",
            "Share of the memory in use, by area: direct, or heap that survived a collection.",
            "area"),
    /** Whether the gateway is on its way out. */
    DRAINING("weir.draining", Kind.GAUGE, null, "1 from the moment that the gateway says it will stop."),
    /** How often the configuration was read anew or changed. */
    RELOADS(
            "weir.reloads",
            Kind.COUNTER,
            null,
            "Changes of the configuration, by what became of them: applied, unchanged (it is written as it was), refused.",
            "result"),
    /** Somebody has to look at the file. */
    RELOAD_REFUSED(
            "weir.reload.refused",
            Kind.GAUGE,
            null,
            "1 while the configuration that is written is not the one in force, since something is wrong in it."),
    /** What an incident is compared with. */
    RELOAD_CHANGED_AT(
            "weir.reload.changed.at",
            Kind.GAUGE,
            "seconds",
            "When the configuration in force was put in force, in seconds since 1970."),
    /** Among how many limits are divided. */
    CLUSTER_GATEWAYS(
            "weir.cluster.gateways",
            Kind.GAUGE,
            null,
            "Gateways that share the limits of scope cluster, as DNS has them; 0 while it has not answered."),
    /** The number may be an old one. */
    CLUSTER_FAILURES(
            "weir.cluster.failures",
            Kind.COUNTER,
            null,
            "Times that DNS did not tell how many gateways share the limits of scope cluster, or they were not divided."),
    /** Lines that nobody will read. */
    ACCESS_LOG_DROPPED(
            "weir.access.log.dropped", Kind.COUNTER, null, "Lines of the access log that were dropped, not written."),
    /** Traces with holes. */
    SPANS(
            "weir.spans",
            Kind.COUNTER,
            null,
            "Spans, by what became of them: exported, dropped (too many were waiting), failed (the collector did not take"
                    + " them); none while tracing is off.",
            "result");

    /** What is measured of it. */
    public enum Kind {
        /** How often and how long, as a histogram. */
        TIMER,
        /** How often or how much, since the start. */
        COUNTER,
        /** How it is now. */
        GAUGE
    }

    /**
     * The upper bounds of all timers' buckets. From a refusal's millisecond to the longest that anybody waits at an
     * edge, in steps of at most two and a half, so that a quantile read from them is never further off than that.
     */
    static final List<Duration> BUCKETS = Stream.of(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
            .map(Duration::ofMillis)
            .toList();

    private final String meterName;
    private final Kind kind;
    private final @Nullable String unit;
    private final String meaning;

    @SuppressWarnings("ImmutableEnumChecker") // Made by List.of.
    private final List<String> tags;

    Meters(String meterName, Kind kind, @Nullable String unit, String meaning, String... tags) {
        this.meterName = meterName;
        this.kind = kind;
        this.unit = unit;
        this.meaning = meaning;
        this.tags = List.of(tags);
    }

    /** Micrometer's name. */
    public String meterName() {
        return meterName;
    }

    /** What is measured of it. */
    public Kind kind() {
        return kind;
    }

    /** The base unit; seconds for timers, null for plain numbers. */
    public @Nullable String unit() {
        return kind == Kind.TIMER ? "seconds" : unit;
    }

    /** What it tells. */
    public String meaning() {
        return meaning;
    }

    /** The tags' keys. */
    public List<String> tags() {
        return tags;
    }

    /** The names of the samples that a Prometheus scrape shows. */
    public List<String> prometheusNames() {
        String base = meterName.replace('.', '_').toLowerCase(Locale.ROOT);
        String ofUnit = unit();
        if (ofUnit != null && !base.endsWith('_' + ofUnit)) {
            base = base + '_' + ofUnit;
        }
        return switch (kind) {
            case TIMER -> List.of(base + "_bucket", base + "_count", base + "_sum", base + "_max");
            case COUNTER -> List.of(base + "_total");
            case GAUGE -> List.of(base);
        };
    }
}
