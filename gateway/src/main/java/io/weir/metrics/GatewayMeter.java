package io.weir.metrics;

import static io.weir.metrics.MeterDefinition.counter;
import static io.weir.metrics.MeterDefinition.gauge;

/** Meters of the gateway as a whole: callers' connections, overload, configuration, keys, and the process. */
public enum GatewayMeter implements Meters {
    /** Shows that a chaos experiment is under way. */
    FAULTS_ACTIVE(gauge("weir.faults.active"), "Injected faults that are active now."),
    /** Callers' connections. */
    CONNECTIONS_OPEN(gauge("weir.connections.open"), "Open connections of callers."),
    /** The limit of callers' connections. */
    CONNECTIONS_LIMIT(gauge("weir.connections.limit"), "Limit of open connections of callers."),
    /** Connections over the limit. */
    CONNECTIONS_REJECTED(
            counter("weir.connections.rejected"), "Connections of callers closed at once because of the limit."),
    /** Addresses that are counted for the limits per client. */
    CLIENTS(gauge("weir.clients"), "Client addresses that have a connection or a request under way."),
    /** The limit of connections of one client address. */
    CLIENT_CONNECTIONS_LIMIT(
            gauge("weir.client.connections.limit"), "Limit of open connections of one client address."),
    /** Connections over the limit of their client address. */
    CLIENT_CONNECTIONS_REJECTED(
            counter("weir.client.connections.rejected"),
            "Connections closed at once because of the limit of their client address. The log names the address."),
    /** The limit of requests of one client address. */
    CLIENT_REQUESTS_LIMIT(gauge("weir.client.requests.limit"), "Limit of requests under way of one client address."),
    /** Requests over the limit of their client address. */
    CLIENT_REQUESTS_REFUSED(
            counter("weir.client.requests.refused"),
            "Requests refused because of the limit of their client address. The log names the address."),
    /** Connections that ended because of a flood. */
    CONNECTIONS_FLOODED(
            counter("weir.connections.flooded"),
            "HTTP/2 connections ended because their callers flooded them with frames."),
    /** Shows a trusted proxy that sets a priority which does not exist. */
    PRIORITY_IGNORED(
            counter("weir.priority.ignored"),
            "Requests whose priority from a trusted proxy was ignored: an unknown word, or more than one value."),
    /** TLS handshakes of callers: a storm of new connections, and certificates that callers do not trust. */
    HANDSHAKES(
            counter("weir.handshakes", "result"),
            "TLS handshakes of callers: full, resumed, or failed. Failed: caller-left, alert (of the caller),"
                    + " certificate (of the caller), no-tls, timeout, no-agreement (on version, suite or protocol)."),
    /** All requests in the gateway. */
    IN_FLIGHT(gauge("weir.inflight"), "Requests in the gateway, queued or sent to a backend, streams included."),
    /** The limit of requests in the gateway. */
    IN_FLIGHT_LIMIT(gauge("weir.inflight.limit"), "Limit of requests in the gateway."),
    /** The requests that may be refused, if there are more of them. */
    IN_FLIGHT_SHARED(
            gauge("weir.inflight.shared"), "Requests in the gateway beyond the guaranteed shares of their backends."),
    /** The limit of requests beyond guaranteed shares. */
    IN_FLIGHT_SHARED_LIMIT(
            gauge("weir.inflight.shared.limit"),
            "Limit of weir_inflight_shared: the places that are guaranteed to no backend."),
    /** Bodies of requests in memory. */
    READ_AHEAD(
            gauge("weir.read.ahead").in("bytes"),
            "Bytes of request bodies that are read but not sent to a backend yet."),
    /** The limit of bodies of requests in memory. */
    READ_AHEAD_LIMIT(
            gauge("weir.read.ahead.limit").in("bytes"), "Limit of the bytes of request bodies that are read ahead."),
    /** Answers in memory. */
    LAST_GOOD_MEMORY(
            gauge("weir.last.good.memory").in("bytes"), "Heap in use for the last good answers of all routes."),
    /** The limit of answers in memory. */
    LAST_GOOD_MEMORY_LIMIT(
            gauge("weir.last.good.memory.limit").in("bytes"), "Limit of the heap for the last good answers."),
    /** Answers that may come into memory. */
    LAST_GOOD_RECORDING(
            gauge("weir.last.good.recording").in("bytes"),
            "Heap in use for answers that are recorded now, and are not kept yet."),
    /** Shows that the gateway itself is slow. */
    EVENT_LOOP_DELAY(
            gauge("weir.eventloop.delay").in("seconds"),
            "Standing delay of the slowest event loop: the shortest of its last iterations, on Linux without its wait"
                    + " for a processor; 0 if it has none."),
    /** The effect of the gateway's protection of its event loops. */
    OVERLOAD_SHARE(
            gauge("weir.overload.share").in("ratio"),
            "Share of new requests that an event loop refuses because of its standing delay; the highest of all event"
                    + " loops."),
    /** The requests that the gateway refused to protect itself. */
    OVERLOAD_REFUSED(
            counter("weir.overload.refused", "cause", "priority"),
            "Requests refused with gateway-overloaded, by cause (event-loop-delay, in-flight, memory) and priority."
                    + " Requests whose priority is not known yet count as normal."),
    /** Shows that connections get no answer. */
    EVENT_LOOPS_STUCK(gauge("weir.eventloop.stuck"), "Event loops that have run no task for 5 s."),
    /** Shows that the gateway itself is full. */
    MEMORY_USED(
            gauge("weir.memory.used", "area").in("ratio"),
            "Share of memory in use, by area: direct memory, or heap in use after a garbage collection."),
    /** Shows that the gateway is shutting down. */
    DRAINING(gauge("weir.draining"), "1 from the announcement of the shutdown on."),
    /** Changes of the configuration. */
    RELOADS(
            counter("weir.reloads", "result"),
            "Changes of the configuration, by result: applied, unchanged (equal to the one in force), refused."),
    /** Shows that the files need a correction. */
    RELOAD_REFUSED(
            gauge("weir.reload.refused"),
            "1 while the files contain a configuration that was refused; the previous one stays in force."),
    /** To compare with the time of an incident. */
    RELOAD_CHANGED_AT(
            gauge("weir.reload.changed.at").in("seconds"),
            "Time when the configuration in force was applied, in seconds since 1970."),
    /** To compare the gateways of a job; a number and no tag, so that a change adds no time series. */
    CONFIGURATION_HASH(
            gauge("weir.configuration.hash"),
            "Hash of the values in the files of the configuration in force, 48 bits as a number; equal for gateways"
                    + " with the same configuration."),
    /** The end of the validity of each certificate in use. */
    TLS_EXPIRES_AT(
            gauge("weir.tls.expires.at", "bundle", "store", "certificate").in("seconds"),
            "Time when a certificate of an SSL bundle expires, in seconds since 1970; of a chain, the certificate"
                    + " that expires first. The tag store is key or trust, certificate is the alias."),
    /** Replacements of certificates. */
    TLS_ROTATIONS(
            counter("weir.tls.rotations", "bundle", "result"),
            "Changes of the files of an SSL bundle, by result: applied, refused."),
    /** Shows that the files of a bundle need a correction. */
    TLS_REFUSED(
            gauge("weir.tls.refused", "bundle"),
            "1 while the files of an SSL bundle contain material that was refused; the previous one stays in use."),
    /** Shows whether the tokens of an issuer can be verified. */
    ISSUER_KEYS(
            gauge("weir.issuer.keys", "issuer"),
            "Keys of an issuer of tokens that are in force; 0: none were ever known, and its tokens are refused."),
    /** Shows that the keys of an issuer may be outdated. */
    ISSUER_FAILING(
            gauge("weir.issuer.failing", "issuer").in("seconds"),
            "Time since the keys of an issuer of tokens cannot be fetched; 0: the last fetch has succeeded."),
    /** Fetches of keys. */
    ISSUER_FETCHES(
            counter("weir.issuer.fetches", "issuer", "result"),
            "Fetches of the keys of an issuer of tokens, by result: fetched, partial (some keys cannot be read, and"
                    + " are skipped), failed."),
    /** Tokens of callers. */
    TOKENS(
            counter("weir.tokens", "issuer", "result"),
            "Tokens of an issuer, by result: cached (accepted, as its signature was verified before), verified"
                    + " (accepted after its signature was verified), refused."),
    /** The divisor of limits of scope cluster. */
    CLUSTER_GATEWAYS(
            gauge("weir.cluster.gateways"),
            "Gateways that share the limits of scope cluster, according to DNS; 0 before the first answer of DNS,"
                    + " while the initial number applies."),
    /** Shows that the number of gateways may be outdated. */
    CLUSTER_FAILURES(
            counter("weir.cluster.failures"),
            "Failed updates of the shares of limits of scope cluster: DNS lookup failed, or the limits were not"
                    + " changed."),
    /** Lost lines of the access log. */
    ACCESS_LOG_DROPPED(
            counter("weir.access.log.dropped"), "Lines of the access log that were dropped and not written."),
    /** Lost lines of the gateway's own log. */
    LOG_DROPPED(
            counter("weir.log.dropped"),
            "Lines of the gateway's own log and of standard error that were dropped and not written."),
    /** Which builds run; to compare before and after an upgrade. */
    BUILD(
            gauge("weir.build.info", "version", "java", "engine"),
            "1; the tags are the version of the gateway, that of its Java, and the engine of TLS: boringssl or jdk."),
    /** Exported and lost spans. */
    SPANS(
            counter("weir.spans", "result"),
            "Spans, by result: exported, dropped (the queue was full), failed (the collector did not accept them)."
                    + " None while tracing is off.");

    @SuppressWarnings("ImmutableEnumChecker") // Its list of tags is immutable.
    private final MeterDefinition definition;

    GatewayMeter(MeterDefinition definition, String description) {
        this.definition = definition.describedAs(description);
    }

    @Override
    public MeterDefinition definition() {
        return definition;
    }
}
