/**
 * Costs of the gateway: its speed beside its peers, of a reload, and of the dashboard.
 *
 * <p>A speed is a ratio within one round, and its median over the rounds: the speed of a shared machine
 * changes, but a round is short enough that all servers in it get the same machine. The measured server has
 * its own core; its CPU usage is shown, because with an idle core the load was the limit.
 */
@NullMarked
package io.weir.perf.bench;

import org.jspecify.annotations.NullMarked;
