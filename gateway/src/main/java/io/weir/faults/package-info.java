/**
 * Faults that an operator injects into calls, for chaos experiments: the gateway behaves as if the backend
 * misbehaved, and its protections must contain that. The backend itself stays untouched.
 *
 * <p>Off unless {@code weir.faults.enabled}. {@link io.weir.faults.InjectedFaults} starts and ends faults;
 * the management endpoint {@code weirfaults} is their only entry. A fault acts on a share of the calls of a
 * route, a backend or an instance, for a bounded time, and then heals by itself: its end is fixed at its
 * start, and needs no operator, timer or network. The timer only reports the end.
 *
 * <p><b>Where it acts.</b> The engine asks {@link io.weir.faults.ActiveFaults} for the fault of an attempt
 * when the attempt has its permit and its instance. Deadline, breaker, limit, retries, stall detection,
 * ejection and fallback therefore see the fault as they would see the backend's own. Rejected alternative: a
 * filter in front of the engine, as Envoy's HTTP fault filter is. Its faults reach callers, but exercise no
 * protection: a breaker never sees them.
 *
 * <table>
 * <caption>The faults ({@link io.weir.faults.FaultType})</caption>
 * <tr><td>{@code latency}</td><td>the request is sent to the backend only after a fixed time</td></tr>
 * <tr><td>{@code abort}</td><td>the gateway answers in place of the backend, with a status, and with the
 *     reason {@code fault-injected}; nothing is sent</td></tr>
 * <tr><td>{@code hang}</td><td>nothing is sent and nothing arrives</td></tr>
 * <tr><td>{@code reset}</td><td>the connection is lost before the answer's head; nothing is sent</td></tr>
 * <tr><td>{@code truncate}</td><td>the request is sent, and the connection is lost after this many bytes of
 *     the answer's body; a shorter answer is complete</td></tr>
 * </table>
 *
 * <p><b>All kinds of calls.</b> Both doors use the same engine. A fault acts alike on callers of HTTP/1.1 and
 * of HTTP/2. A gRPC caller gets a status in trailers, as for a fault of the backend. A stream
 * ({@code mode: stream}) hangs until its deadline for the head. On a WebSocket, a fault acts on the
 * handshake; {@code truncate} does not act on it.
 *
 * <p><b>Probes.</b> The gateway's own requests to a backend, shadow probes, health probes and health checks,
 * get the faults of the backend or instance, too: otherwise each probe would find a backend healthy that
 * hangs for its callers, and the breaker would flap. A shadow probe has the route and the header fields of
 * the request that it copies. The other requests of the gateway have no route and no such fields, so faults
 * of a route, and faults that ask for a header, do not act on them. {@code truncate} does not act on any of
 * them, since only the head of the answer counts.
 *
 * <p><b>The end.</b> A call that hangs goes on hanging after the end of its fault, until its deadline or its
 * caller ends it: a backend that has lost a request does not find it again. A call that waits for its latency
 * waits for all of it. New calls are healthy at once.
 *
 * <p><b>Reload and stop.</b> Faults name routes, backends and instances. They survive a reload; a fault whose
 * name is gone matches nothing. An injected fault holds nothing but the call's own permit and timer, so a
 * drain ends such a call like any other. A restart forgets all faults. A fault concerns one gateway.
 *
 * <p><b>Concurrency.</b> {@link io.weir.faults.InjectedFaults} is guarded by its monitor, on the threads of
 * management and of the timer. The engine reads one volatile field, which is null while no fault is active;
 * then a call costs nothing else.
 *
 * <p><b>Limitations.</b> The faults begin at the request: an unreachable address, TLS and DNS cannot be
 * injected. The share is drawn for each attempt, so a retry may be spared.
 */
@NullMarked
package io.weir.faults;

import org.jspecify.annotations.NullMarked;
