/**
 * Changes the configuration while the gateway serves: its files are watched, an operator asks, or changes a limit by hand.
 *
 * <h2>What it protects against</h2>
 *
 * An incident in which the limit that has to change costs a restart, and with it every connection, every breaker's state and a cold
 * JVM; and a change that gets in half: new routes with old limits, or one good line out of a file with a bad one.
 *
 * <h2>Algorithm</h2>
 *
 * <ol>
 *   <li>{@link io.weir.reload.FileWatch} compares what the files hold, by hash, when the file system tells of something in one of
 *       the directories on the way to them (all links followed: a Kubernetes config map changes by a link beside the file),
 *       and now and then without being told. Files are those of what is in force and those that were read last: what a refused file
 *       imports is among them, and what a file may import and is not there. What has changed is read once it has stood still for a moment.
 *   <li>{@link io.weir.reload.LiveConfiguration} reads what a start would read ({@link io.weir.config.check.ConfigurationReader}), and has it
 *       checked as a start does ({@link io.weir.config.check.ConfigurationSnapshot}). It holds it against what is in force: of what is different, a running gateway follows backends,
 *       routes and default filters; anything else was built into servers, meters and threads, and is a problem that names it.
 *       With one problem, of either kind, nothing is changed at all.
 *   <li>The {@linkplain io.weir.reload.LiveConfiguration.Target target} makes all that can fail (Spring Cloud Gateway's routes, compiled
 *       routes, pools with their TLS, meters), and takes it back if something does; then it changes in place what stays, and writes one
 *       reference. A request takes hold of that reference once, when it comes in, and goes by it to its end, through either door. From
 *       there on the change stands: what somebody throws who is told of it is logged.
 *   <li>What is left behind is closed when nobody can reach it any more: mark and sweep, from the routes that were in force once.
 * </ol>
 *
 * <h2>What stays</h2>
 *
 * Bulkheads are resized in place, so that permits in use count and waiters come up. A breaker stays if all that it goes by is the same; if
 * only figures differ that it derives from the deadline or the limit, another one goes on in its state with an empty window; with settings
 * of its own changed it begins anew, but what an operator forced stays forced. A pool stays unless the address or the {@code connection}
 * changed, and its room grows with the permits. Series of meters go on as long as the name is there.
 *
 * <h2>Operators</h2>
 *
 * A limit changed by hand is a value above all files, checked and swapped in like them, and shown with the origin {@code operator}. A reload
 * that is applied forgets all of them, since from then on the files are to be believed; one that is refused forgets none.
 *
 * <h2>Concurrency</h2>
 *
 * Changes come one after the other, under one monitor, on the watch's thread or a worker's, never on an event loop. What is in force is volatile.
 * Forcing a breaker waits for a swap that is under way, so that it never forces one that is just being replaced.
 *
 * <h2>Why this and not something else</h2>
 *
 * <ul>
 *   <li>Spring Cloud's {@code @RefreshScope} and {@code RefreshRoutesEvent}: beans are rebuilt one by one and asynchronously, and a request
 *       meets the new ones of some and the old ones of others; old pools stay for ever.
 *   <li>A time after which what is left behind is closed: either it cuts off a stream, or it is as long as the longest of them.
 *   <li>A counter for each generation of the configuration: one long stream would hold up everything that was left behind since.
 *   <li>Modification times instead of contents: a swapped link brings an older file, and a touched one brings nothing.
 * </ul>
 *
 * <h2>Limitations</h2>
 *
 * <ul>
 *   <li>A file that is cut off at the end of a route is still sound. A writer that stops in its middle for longer than {@code
 *       quiet-period} may have such a half read; who renames a whole file into place never has. An empty file is refused.
 *   <li>Environment variables and arguments are those of the process.
 *   <li>A property of the file's own, which others only name as a placeholder ({@code ${calls}}), takes a restart, since who else reads it is not known.
 *   <li>A route without an id is another one after each change, with meters of its own.
 *   <li>What was changed by hand is forgotten by a restart too.
 *   <li>A dry run is not the real thing: nobody waits and nobody is refused, so the backend has more to do than it would have, and who
 *       would have waited is served at another time.
 * </ul>
 */
@NullMarked
package io.weir.reload;

import org.jspecify.annotations.NullMarked;
