/**
 * Faults that are switched on at run time, each at the place where it would really occur.
 *
 * <h2>The kinds</h2>
 * <table><caption>Kinds; all take {@code path}, {@code probability}, {@code after},
 * {@code duration}</caption>
 * <tr><td>{@code latency}</td><td>a delay before the work: {@code distribution} fixed ({@code delay}),
 * uniform ({@code min}, {@code max}), log-normal ({@code median}, {@code sigma}), pareto ({@code scale},
 * {@code shape})</td></tr>
 * <tr><td>{@code slow-start}</td><td>a delay before the work that shrinks from {@code delay} to 0 within
 * {@code ramp}</td></tr>
 * <tr><td>{@code errors}</td><td>error statuses, {@code shares} by status</td></tr>
 * <tr><td>{@code hang}</td><td>the exchange waits without an answer until the fault heals, then
 * continues</td></tr>
 * <tr><td>{@code reset}</td><td>RST on the socket</td></tr>
 * <tr><td>{@code truncate}</td><td>a full {@code Content-Length}, a {@code share} of the body, FIN</td></tr>
 * <tr><td>{@code trickle}</td><td>{@code bytes} of the body each {@code interval}</td></tr>
 * <tr><td>{@code cpu}</td><td>the serving thread computes for {@code burn}; on Netty this is the event
 * loop</td></tr>
 * <tr><td>{@code pool}</td><td>the fault really holds {@code connections} of the service's pool, or
 * all</td></tr>
 * <tr><td>{@code lock}</td><td>another session holds the lock of {@code row}: {@code PUT /records/{row}}
 * waits</td></tr>
 * </table>
 *
 * <p>{@code PUT /faults} replaces all faults by a script or a single fault, {@code POST} adds to them,
 * {@code GET} lists them, {@code DELETE} heals them. The same script under {@code sim.faults} is active
 * before the service listens. A document with an unknown or invalid field is refused, the answer names the
 * field, and nothing changes.
 *
 * <pre>{@code
 * {"seed": 42, "script": [
 *   {"kind": "hang", "path": "/records/**", "after": "10s", "duration": "15s"},
 *   {"kind": "errors", "shares": {"503": 0.2}, "after": "40s", "duration": "10s"}]}
 * }</pre>
 *
 * <h2>Design</h2>
 * {@link io.weir.sim.faults.FaultRegistry} decides the effects on each request. Each fault has its own random
 * number generator, so that the same seed and the same requests cause the same faults.
 * {@link io.weir.sim.faults.FaultPlan} is the decision. {@code ServletFaults} and {@code NettyFaults} apply
 * it. In a servlet stack a waiting request holds the servlet thread, as a hanging servlet would; on Netty it
 * holds none. The servlet API gives no access to the socket, so Tomcat runs a protocol class of its own
 * ({@code BreakableHttp11Protocol}) that finds its connections.
 *
 * <p>Database faults act from their start on. With a path or a probability below 1 they act from the first
 * request that draws them, and hold until they heal.
 *
 * <h2>Access</h2>
 * {@code /faults} is on the management port, not on the service's port, for two reasons. The management port
 * has threads of its own and answers while every thread of the service hangs. And a gateway in front of the
 * service does not expose it. The management port listens on loopback by default, and {@code /faults} answers
 * only callers on this machine unless {@code sim.faults.remote} is set. So opening the port for metrics does
 * not open it for faults.
 *
 * <h2>Limitations</h2>
 * {@code truncate} and {@code trickle} buffer the body, which is small here. When the process stops, faults
 * heal first, so that it can drain. A service that does not stop is not simulated; {@code kill -STOP} does
 * that.
 */
@NullMarked
package io.weir.sim.faults;

import org.jspecify.annotations.NullMarked;
