/**
 * The management port: its endpoints, its guard, and the interfaces through which an operator changes the
 * gateway.
 *
 * <p><b>A port of its own.</b> Management has its own port and its own Spring context. {@link
 * io.weir.management.ManagementGuardConfiguration} adds the guard, a web filter, to that context only, so
 * that requests of the gateway's callers never pass it. {@link io.weir.management.ManagementPort} refuses a
 * port that is shared with callers, and an address other than loopback without a token.
 *
 * <p><b>Two checks</b> in {@link io.weir.management.ManagementGuard}: the token, for all requests except
 * health probes and the files of the dashboard page; and the origin, for all requests that change something
 * ({@link io.weir.management.SameOriginCheck}), since a browser on the operator's machine can reach a
 * loopback port from any site.
 *
 * <p><b>Breakers are forced through {@link io.weir.management.WeirEndpoint}</b>, not through Resilience4j's
 * endpoints. Those are read-only by default: their POST creates a breaker for an unknown name, and does not
 * log the caller. The endpoint {@code weir} accepts configured backends only, and logs each change with the
 * operator's address.
 *
 * <p><b>Changes through interfaces.</b> {@link io.weir.management.OperatorChanges} and {@link
 * io.weir.management.Gateway} are implemented by the live configuration, which is in a higher package.
 *
 * <p><b>Events.</b> {@link io.weir.management.RecentEvents} keeps the last fifty changes for the dashboard.
 * {@link io.weir.management.EventRings} replaces the buffers of Resilience4j's event endpoints, which take a
 * lock for each event on the event loop.
 *
 * <p><b>Concurrency.</b> A change of limits reads and validates files, so it runs on a bounded elastic
 * thread.
 *
 * <p><b>Limitations.</b> One token for all operators, and for reading and changing alike. An operator's
 * changes are lost at the next reload and at a restart.
 */
@NullMarked
package io.weir.management;

import org.jspecify.annotations.NullMarked;
