/**
 * Faults at run time, each acting where it would really happen.
 *
 * <h2>What there is</h2>
 * <table><caption>Kinds; all take {@code path}, {@code probability}, {@code after}, {@code duration}</caption>
 * <tr><td>{@code latency}</td><td>time before the work: {@code distribution} fixed ({@code delay}), uniform ({@code min},
 * {@code max}), log-normal ({@code median}, {@code sigma}), pareto ({@code scale}, {@code shape})</td></tr>
 * <tr><td>{@code slow-start}</td><td>time before the work that shrinks from {@code delay} to nothing within {@code ramp}
 * </td></tr>
 * <tr><td>{@code errors}</td><td>{@code shares} by status</td></tr>
 * <tr><td>{@code hang}</td><td>the exchange is held, unanswered, until the fault heals, and then goes on</td></tr>
 * <tr><td>{@code reset}</td><td>RST on the socket</td></tr>
 * <tr><td>{@code truncate}</td><td>a whole {@code Content-Length}, a {@code share} of the body, FIN</td></tr>
 * <tr><td>{@code trickle}</td><td>{@code bytes} of the body each {@code interval}</td></tr>
 * <tr><td>{@code cpu}</td><td>the serving thread computes for {@code burn}: on Netty that is the event loop</td></tr>
 * <tr><td>{@code pool}</td><td>{@code connections} of the service's pool are really held, or all</td></tr>
 * <tr><td>{@code lock}</td><td>another session holds the row lock of {@code row}: {@code PUT /records/{row}} waits</td>
 * </tr>
 * </table>
 *
 * <p>{@code PUT /faults} takes a script, or a single fault, instead of what is on; {@code POST} adds to it; {@code GET}
 * shows it; {@code DELETE} heals. The same script can stand under {@code sim.faults} and is then on before the service
 * listens. What is not understood is refused by the name of its field, and then nothing changes.
 *
 * <pre>{@code
 * {"seed": 42, "script": [
 *   {"kind": "hang", "path": "/records/**", "after": "10s", "duration": "15s"},
 *   {"kind": "errors", "shares": {"503": 0.2}, "after": "40s", "duration": "10s"}]}
 * }</pre>
 *
 * <h2>How it is made</h2>
 * {@link io.weir.sim.faults.FaultBoard} decides, for each request, with a generator of random numbers for each fault, so
 * that the same seed and the same requests make the same faults. {@link io.weir.sim.faults.FaultPlan} is what it has
 * decided. {@code ServletFaults} and {@code NettyFaults} do it: in a servlet stack waiting holds the servlet thread, as a
 * hanging servlet would; on Netty it holds none. A servlet has no way to its socket, so Tomcat runs a protocol of its own
 * class that hands out its connections.
 *
 * <p>Faults of the database strike when they begin, unless they have a path or a probability below 1: then they strike
 * with the first request that draws them, and hold until they heal.
 *
 * <h2>Who can get at it</h2>
 * {@code /faults} is on the management port and not on the service's, for two reasons: there it has threads of its own, so
 * that it works while every thread of the service hangs; and a gateway in front of the service does not make it
 * reachable. That port listens on loopback unless told otherwise, and {@code /faults} answers callers on this machine only
 * unless {@code sim.faults.remote} is set, so that opening the port for metrics does not open it for faults.
 *
 * <h2>Limitations</h2>
 * {@code truncate} and {@code trickle} collect the body first, which is small here. When a process ends, faults heal
 * first, so that it can drain: a service that refuses to die is not simulated, {@code kill -STOP} does that.
 */
@NullMarked
package io.weir.sim.faults;

import org.jspecify.annotations.NullMarked;
