/**
 * What a user sees: metrics, the access log, Little's law, the management endpoint {@code weir}, and the guard before
 * it.
 *
 * <p><b>One vocabulary.</b> The outcome of an exchange is one word out of a bounded list ({@link
 * io.weir.engine.ExchangeOutcomes}), the same in metrics and log. Every meter is documented in {@link io.weir.metrics.Meters},
 * which is also what it is created from; a test holds a scrape to it. No tag is ever taken from a request: paths,
 * headers and addresses are in the log, where cardinality costs a disk and not the monitoring.
 *
 * <p><b>Cost.</b> An edge proxy is measured by requests per core, so what is told of a request must cost next to
 * nothing. Meters are built with their route or backend; a request finds them in an array, by index, and allocates
 * nothing (a test bounds it). A line of the access log is one array of bytes, formatted on the event loop and handed to
 * one writer through a ring ({@link io.weir.accesslog.LineQueue}). Gauges are computed when they are scraped. No
 * Observation, no MDC, no logging framework is on the way of a request. Rejected: Micrometer's Observation (several
 * allocations and a context look-up per request); Logback with an asynchronous appender and a JSON encoder (an
 * event and a map for each line, and a queue that takes a lock); a percentile computed in the gateway (it cannot be
 * aggregated over gateways: hence fixed buckets).
 *
 * <p><b>What is counted, and why that.</b> Requests with a histogram by backend, route, outcome and door: rate, errors
 * and duration of whatever an alert asks for. Bytes of answers by route, since that is what an edge is billed and sized
 * by; bytes of requests are not known to the exchange. Shed exchanges by backend and reason again in a counter without
 * buckets, for alerts over many backends. Queue wait and budget left at dispatch, since they tell a queue that is too
 * long before callers do. All timers share one set of buckets, 1 ms to 10 s.
 *
 * <p><b>Little's law</b> has its definitions, sources and limitations at {@link io.weir.limit.LittlesLaw}.
 *
 * <p><b>Names change hands.</b> When the configuration is swapped, a route and its successor of the same name live side
 * by side until the old one's exchanges have ended. {@link io.weir.metrics.MeterBook} lets each meter belong to who
 * asked for it last.
 *
 * <p><b>The access log never holds anybody up.</b> A disk that is full or a pipe that nobody reads costs lines, which
 * are counted in {@code weir_access_log_dropped_total}, and never an exchange. The path is logged without its query,
 * whose values may be secrets. A file is reopened when its name has gone to another one, so that rotating it needs no
 * signal.
 *
 * <p><b>Overload</b> is sampled on a thread of its own, since an event loop that is stuck cannot tell ({@link
 * io.weir.overload.OverloadSampler}). What counts is a delay that stands, and heap that survived a collection: a pause
 * or garbage is no overload, and shedding for it would be.
 *
 * <p><b>Management</b> has a port and a Spring context of its own. The guard is a web filter in that context ({@link
 * io.weir.management.ManagementGuardConfiguration}), so that callers' requests never pass it. Resilience4j's endpoints are
 * read-only by default: its POST creates breakers of unknown names, and does not say who did it. {@link
 * io.weir.management.WeirEndpoint} forces a breaker instead: known backends only, and logged.
 *
 * <p>Concurrency: event loops write, whoever scrapes reads, and neither waits for the other. Locks are taken where
 * meters are created, removed or scraped, not where they are counted.
 *
 * <p>Limitations: an exchange that another backend's fallback answered does not say what it fell back for. Refusals
 * before a route is known count as having taken no time. What ends after its route has been closed is logged, and not
 * counted.
 */
@NullMarked
package io.weir.metrics;

import org.jspecify.annotations.NullMarked;
