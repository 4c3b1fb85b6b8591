/**
 * The management port: its endpoints, its guard, and the interfaces through which an operator changes the
 * gateway.
 *
 * <p><b>A port of its own.</b> Management has its own port and its own Spring context. {@link
 * io.weir.management.ManagementGuardConfiguration} adds the guard, a web filter, to that context only, so
 * that requests of the gateway's callers never pass it. {@link io.weir.management.ManagementPort} refuses a
 * port that is shared with callers, and an address other than loopback without a token.
 *
 * <p><b>Three checks</b> in {@link io.weir.management.ManagementGuard}, in this order. The host, for every
 * request ({@link io.weir.management.AllowedHosts}): the page of a site that points its own name to this
 * machine (DNS rebinding) could otherwise read every endpoint of a port without a token. The origin, for all
 * requests that change something ({@link io.weir.management.SameOriginCheck}), since a browser on the
 * operator's machine can reach a loopback port from any site. The token, for all requests except health
 * probes and the files of the dashboard page ({@link io.weir.management.ManagementTokens}).
 *
 * <p><b>Two rights.</b> The read-only token is for scrapers and screens, which many people can read; an
 * operator's token also permits changes. Each has a name, and the audit (log, dashboard, list of changes)
 * shows the name and the address, never the token. The host is checked even if tokens are configured: one
 * rule for every request is simpler to trust, and the names of services need only one line of configuration.
 *
 * <p><b>Breakers are forced through {@link io.weir.management.WeirEndpoint}</b>, not through Resilience4j's
 * endpoints. Those are read-only by default: their POST creates a breaker for an unknown name, and does not
 * log the caller. The endpoint {@code weir} accepts configured backends only, and logs each change with the
 * operator's name and address.
 *
 * <p><b>Instances are drained through the same endpoint.</b> An operator drains an instance before its
 * machine is stopped, so its calls end where they are, and it gets no probes. The last instance that takes
 * calls cannot be drained, since that would be an outage. To stop all calls, an operator forces the breaker
 * open. A drained instance is the operator's decision: neither a reload that keeps its address nor a forced
 * state of its backend returns it.
 *
 * <p><b>An end for each change.</b> A change that an operator forgets is an incident later: a breaker that is
 * forced closed protects nobody. So an operator can give each change a time to live, after which the gateway
 * undoes it as if the operator had. {@link io.weir.management.OperatorChangeStore} keeps all changes with
 * their ends: the forced breakers and drained instances of {@link io.weir.management.OperatorSwitches}, and
 * the limits of the live configuration. The store has one timer, which only calls those two. Each of them
 * looks for its changes whose time is over, and ends them under its lock. A change that has been replaced
 * meanwhile is not among them. A change of a breaker or instance belongs to a {@link
 * io.weir.health.Health}, and ends with it: a backend that a reload removes and a later one adds again has
 * another. Rejected: a task for each change, which has to be cancelled exactly once in each of these cases;
 * and to store ends on disk, since a restarted gateway starts with what its files say.
 *
 * <p><b>Faults are injected through {@link io.weir.management.WeirFaultsEndpoint}</b>, an endpoint of its
 * own: its values are no limits of a backend, and a deployment can leave it out of {@code exposure}. It
 * refuses unknown members of the body, since a misspelt {@code percent} would fail every call.
 * {@link io.weir.management.FaultReporter} writes begin and end to the log and to the recent events.
 *
 * <p><b>Changes through interfaces.</b> {@link io.weir.management.OperatorChanges} and {@link
 * io.weir.management.Gateway} are implemented by the live configuration, which is in a higher package.
 *
 * <p><b>Events.</b> {@link io.weir.management.RecentEvents} keeps the last fifty changes for the dashboard.
 * An instance that is ejected has one event, and one when it takes its share again; its relapses in between,
 * and an opening of all instances at once, have none, since they would push out all others.
 * {@link io.weir.management.EventRings} replaces the buffers of Resilience4j's event endpoints, which take a
 * lock for each event on the event loop.
 *
 * <p><b>Concurrency.</b> Requests that change something read files, wait for monitors and write to the log,
 * so {@link io.weir.management.ManagementCaller#run} moves them to a bounded elastic thread.
 *
 * <p><b>Limitations.</b> A change of the tokens needs a restart. An operator's changes are lost at a restart.
 * A change concerns one gateway, unless its request asks for all ({@code io.weir.fleet}).
 */
@NullMarked
package io.weir.management;

import org.jspecify.annotations.NullMarked;
