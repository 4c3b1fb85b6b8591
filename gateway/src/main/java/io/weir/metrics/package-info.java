/**
 * The gateway's meters, as a Prometheus scrape and JMX show them.
 *
 * <p><b>One vocabulary.</b> The outcome of an exchange is one word from a bounded list
 * ({@link io.weir.engine.ExchangeOutcomes}), the same in metrics, access log and traces. Every meter is
 * defined in {@link io.weir.metrics.Meters} and created from that definition; a test compares a scrape with
 * the definitions. The value of a tag never comes from a request: paths, headers and callers' addresses are
 * in the access log, where high cardinality costs disk space and does not harm the monitoring.
 *
 * <p><b>Instances.</b> The tag {@code instance} is the address of one of several instances of a backend
 * ({@link io.weir.metrics.InstanceMeters}). A backend has at most 256 such tags, about 15 series each; the
 * instances beyond share the tag {@code others}. A backend with one instance has no such series. The series
 * of an instance are removed when a configuration without it is committed, while its last calls may still be
 * under way: their results are in the meters of the backend and in the access log. The name of the tag
 * collides with Prometheus' own label of the scraped gateway, and Prometheus renames the tag to
 * {@code exported_instance}. Rejected: another name in the gateway, since the access log and the
 * configuration say {@code instance}, too.
 *
 * <p><b>Cost.</b> The measure of an edge proxy is requests per core, so observing a request must cost next to
 * nothing. Meters are created with their route or backend. A request finds its meters in an array, by index,
 * and allocates nothing (tests limit the allocation to zero). Gauges are computed by the scrape. No
 * Observation, MDC or logging framework is on the path of a request. Rejected:
 *
 * <ul>
 *   <li>Micrometer's Observation: several allocations and a context look-up for each request.
 *   <li>Percentiles computed in the gateway: they cannot be aggregated over gateways. Hence fixed buckets.
 * </ul>
 *
 * <p><b>Which figures, and why.</b>
 *
 * <ul>
 *   <li>Requests, as a histogram by backend, route, outcome and door: rate, errors and duration for every
 *       alert.
 *   <li>Bytes of responses, by route: an edge is billed and sized by them. The exchange does not know the
 *       bytes of requests.
 *   <li>Shed requests, by backend and reason, also in a counter without buckets, for alerts over many
 *       backends.
 *   <li>Queue wait, and time left of the deadline at dispatch: both show that a queue is too long before
 *       callers notice it.
 *   <li>The limit that auto finds, apart from the one in force: an operator's limit or the ramp of a
 *       recovering backend must not look like a finding, nor raise the alerts for floor and ceiling.
 *   <li>All timers share one set of buckets, 1 ms to 10 s.
 * </ul>
 *
 * <p>Little's law is explained at {@link io.weir.limit.LittlesLaw}, overload at {@link
 * io.weir.overload.OverloadSampler}; this package shows their figures.
 *
 * <p><b>Owners of meters.</b> After a change of the configuration, a route and its successor of the same name
 * exist at the same time, until the exchanges of the old one have ended. {@link io.weir.metrics.MeterBook}
 * records the owners of each meter: the latest owner is shown, and the last one to close removes the meter.
 *
 * <p><b>Concurrency.</b> Event loops write, scrapes read, and neither waits for the other. Creating, removing
 * and scraping meters takes locks; counting events takes none.
 *
 * <p><b>Limitations.</b>
 *
 * <ul>
 *   <li>An exchange that was answered by the fallback of another backend does not show the reason of the
 *       fallback.
 *   <li>Requests refused before their route is known count with a duration of 0.
 *   <li>An exchange that ends after its route was closed is in the access log, and is not counted.
 * </ul>
 */
@NullMarked
package io.weir.metrics;

import org.jspecify.annotations.NullMarked;
