/**
 * Changes the configuration of a running gateway: a watch on its files, a reload request, or an operator who
 * changes a limit.
 *
 * <h2>What it protects against</h2>
 *
 * A restart in an incident, only to change a limit: it costs all connections and the state of all breakers,
 * and leaves a cold JVM. A partial change: new routes with old limits, or a valid line from a file with an
 * invalid one.
 *
 * <h2>Algorithm</h2>
 *
 * <ol>
 *   <li>{@link io.weir.reload.FileWatch} compares the content of the files by hash. It does so after an event
 *       in one of the directories on their paths, and periodically without an event. It follows all symbolic
 *       links, because a Kubernetes ConfigMap changes by replacing a link beside the file. It watches the
 *       files of the configuration in force and those of the last read. The latter include the imports of a
 *       rejected file, and optional imports that do not exist. It loads a change after the content has been
 *       stable for the quiet period.
 *   <li>{@link io.weir.reload.LiveConfiguration} reads the current configuration
 *       ({@link io.weir.config.check.ConfigurationReader}), validates it as at startup
 *       ({@link io.weir.config.check.ConfigurationSnapshot}), and compares it with the one in force
 *       ({@link io.weir.config.check.ConfigurationDifference}). A running gateway can apply changes of
 *       backends, routes and default filters. Everything else was built into servers, meters and threads; its
 *       change is a problem that names the property. A single problem of either kind rejects the whole
 *       change.
 *   <li>The {@linkplain io.weir.reload.ConfigurationTarget target} looks up the addresses of the backends
 *       that the files add, and waits for at most five seconds. Only another reload waits for it: operators
 *       can change limits, force breakers and drain instances meanwhile.
 *   <li>The target then creates everything that can fail (Spring Cloud Gateway's routes, compiled routes,
 *       pools with their TLS, meters), and discards it if a step fails. Then it updates the retained objects
 *       in place, and publishes one reference. Each request reads this reference once, when it arrives, and
 *       uses it to its end, through both doors. After the publication the change is final: an exception of a
 *       listener is only logged.
 *   <li>Replaced resources are closed when no request can reach them any more: mark and sweep, starting from
 *       the routes of all earlier configurations.
 * </ol>
 *
 * <h2>What a reload keeps</h2>
 *
 * <ul>
 *   <li>Bulkheads are resized in place, so permits in use still count and waiting calls can proceed.
 *   <li>A breaker keeps its state and its window. Only if its own settings change does it start closed with
 *       an empty window; a state that an operator forced stays forced even then.
 *   <li>A connection pool stays unless the address or a {@code connection} property changes. Its size follows
 *       the number of permits.
 *   <li>A series of meters continues as long as its name exists.
 * </ul>
 *
 * <h2>Certificates</h2>
 *
 * {@link io.weir.reload.CertificateWatch} compares the files of each SSL bundle with
 * {@code reload-on-update}, and only these: another file of their directory neither starts nor delays a
 * rotation. {@link io.weir.reload.TlsBundles} tries new material before it is used
 * ({@link io.weir.config.check.TlsMaterial}): the key against its certificate, the chain, the validity. It
 * refuses a bundle as a whole. Then the present bundle stays in use, and the log, a counter and a gauge show
 * the refusal. The server uses new material for the next handshake. Backends with the bundle get new pools,
 * as after a change of the configuration: calls under way end on the connections that they have.
 *
 * <p>Spring Boot's own bundles and watch are rejected. They take a key that does not match its certificate,
 * and wait until the whole directory of a file is quiet.
 *
 * <h2>Operators</h2>
 *
 * An operator's change of a limit overrides all files. It is validated and applied like a file, and shown
 * with the origin {@code operator}. It holds until an operator releases it, like a forced breaker, or until
 * its time to live is over. A reload keeps it: a deployment in the middle of an incident, of which the
 * operator may not know, does not undo the mitigation. The log has a line for each change that a reload
 * keeps, and the dashboard shows it. A change never stands in the way of the files: a reload ends a change
 * whose backend is gone, or that is invalid together with the new files, and logs the reason.
 *
 * <p>Rejected: a reload ends a change if the files change the same property. The effect of a reload on a
 * mitigation would then depend on the line that somebody edited.
 *
 * <p>The end of a change applies the configuration in force without it. If another change is invalid without
 * it, both end; if the end cannot be applied, the gateway tries again every ten seconds.
 *
 * <h2>Hash</h2>
 *
 * {@link io.weir.config.check.ConfigurationHash} is the same for gateways with the same configuration, so a
 * difference between gateways shows as a difference of one number. It covers the files only: what operators
 * change is shown beside it, since a mitigation on one gateway is no drift of its files. It is a gauge's
 * value and not a tag, as in Alertmanager, so that a change adds no time series.
 *
 * <h2>Rollback</h2>
 *
 * {@link io.weir.reload.KeptConfigurations} copies the files of each configuration that comes into force, not
 * its values: an operator gets the files back as they were written, with comments and placeholders. {@code
 * weir rollback} replaces the files on disk, and then asks for a reload. Rejected: an older configuration in
 * force beside other files on disk. The next tick of the watch, or the next restart, would bring the files
 * back silently.
 *
 * <h2>Concurrency</h2>
 *
 * One monitor serialises all changes. They run on the watch's thread or on a worker thread, never on an event
 * loop. Another lock serialises reloads, and they read the files and look up addresses before they take the
 * monitor. The configuration in force is volatile. An operator who forces a breaker waits until a change in
 * progress is applied, so that the forced breaker is that of a backend in force.
 *
 * <h2>Why this and not something else</h2>
 *
 * <ul>
 *   <li>Spring Cloud's {@code @RefreshScope} and {@code RefreshRoutesEvent}: they rebuild beans one by one
 *       and asynchronously, so a request meets new and old beans at the same time; and old pools are never
 *       closed.
 *   <li>Closing replaced resources after a fixed time: the time either cuts off a stream, or must be as long
 *       as the longest stream.
 *   <li>A reference counter for each generation of the configuration: one long stream would keep all
 *       resources replaced since.
 *   <li>Modification times instead of content: a replaced link can lead to an older file, and {@code touch}
 *       changes nothing.
 * </ul>
 *
 * <h2>Limitations</h2>
 *
 * <ul>
 *   <li>A file that is truncated at the end of a route is still valid. If a writer pauses in its middle for
 *       longer than {@code quiet-period}, the partial file may be loaded. Renaming a complete file into place
 *       avoids this. An empty file is rejected.
 *   <li>Environment variables and arguments cannot change: they are those of the running process.
 *   <li>A property that other properties only use as a placeholder ({@code ${calls}}) needs a restart,
 *       because its other readers are unknown.
 *   <li>A route without an id is a new route after each change, with its own meters.
 *   <li>A restart also discards the changes by operators.
 *   <li>A dry run differs from enforcement: no call waits and none is refused, so the backend has more work
 *       than it would have, and calls are served earlier than they would be.
 * </ul>
 */
@NullMarked
package io.weir.reload;

import org.jspecify.annotations.NullMarked;
