/**
 * The warm-up: the calls that the gateway makes to itself before it is ready, so that ready means warm.
 *
 * <p><b>Protects against</b> a gateway that is ready and cold. Its first calls run in the JVM's interpreter,
 * while the compilers take the rest of the processor. Of the first 24 000 calls at 800 per second, on one
 * core (late: after more than 800 ms):
 *
 * <table>
 *   <caption>Calls that were refused or late, and the longest one</caption>
 *   <tr><th></th><th>without a warm-up</th><th>with it</th></tr>
 *   <tr><td>from the jar</td><td>357 refused, 249 late, 1.3 s</td><td>0, 0, 0.1 s</td></tr>
 *   <tr><td>options of a release</td><td>486 refused, 593 late, 1.6 s</td><td>0, 0, 0.04 s</td></tr>
 *   <tr><td>and an AOT cache</td><td>42 refused, 0 late, 0.5 s</td><td>0, 0, 0.05 s</td></tr>
 * </table>
 *
 * <p>The first collections of garbage, of 160 and 70 ms, are in the warm-up, too.
 *
 * <p><b>What runs.</b> {@link io.weir.warmup.PrivateGateway} is a second gateway of the same classes in the
 * same process: server, guards of the edge, front door, compiled routes, engine, backends, meters and access
 * log. It shares the event loops and the certificates with the gateway, and nothing else: its meters, its
 * access log, its breakers, limits and rate limits belong to it alone, and end with it. {@link
 * io.weir.warmup.PrivateCallers} send it calls over the loopback interface, {@link
 * io.weir.warmup.PrivateBackend} answers them. Both listen on a free port of the loopback interface, and
 * serve only requests with a random token in their path.
 *
 * <p><b>When it ends.</b> {@link io.weir.warmup.CompilerActivity} looks at the time that the compilers have
 * used: they are quiet if that was little for two seconds in a row, and if there were so many calls before
 * that a method that runs once in a call has reached the second compiler. It ends without that, too, after
 * {@code weir.warm-up.max-duration}, and when the gateway stops.
 *
 * <p><b>Where.</b> The warm-up runs on the thread that starts the gateway, after the servers have started:
 * liveness is true, readiness is not. Calls that arrive nevertheless are served; the warm-up has few calls at
 * once, so that they find their turn. The gateway's port is open that early because the management port
 * follows it, and an operator must see a gateway that starts.
 *
 * <p><b>Failures.</b> The gateway works without a warm-up. A failure is one line in the log.
 *
 * <p><b>Why this and not that.</b>
 *
 * <ul>
 *   <li>Calls to the gateway's own port: they would need a route among the operator's, and would be counted,
 *       logged and limited as his.
 *   <li>Calls before the port is open: a liveness probe would end a gateway that warms up for long.
 *   <li>A fixed number of calls: a machine that is ten times as fast would be warm ten times earlier, and a
 *       slow one never.
 *   <li>An AOT cache alone: it keeps profiles and classes, and no machine code.
 *   <li>A lower priority for the second compiler: without a warm-up the loops run slow code for longer, and
 *       calls time out in the queue (285 refused); with one it changes nothing.
 * </ul>
 *
 * <p><b>Limitations.</b> The general door is exercised if a route uses it, without the filters of
 * extensions; TLS if callers need no certificate of their own. Tracing, WebSockets and gRPC are not. A
 * method that only the operator's routes use is compiled by their calls.
 */
@NullMarked
package io.weir.warmup;

import org.jspecify.annotations.NullMarked;
