/**
 * The gateway as it is now, for who looks: a stream of snapshots, a page that draws it, and the same in Hystrix's old
 * format.
 *
 * <p><b>One snapshot a second</b> ({@link io.weir.dashboard.LiveFeed}), whatever the number of viewers: computed,
 * encoded and compressed once, on a thread of its own, and the same bytes are given to all of them. Each event is whole, so one
 * that is missed does no harm, and there is no state between the gateway and a viewer but its connection.
 *
 * <p><b>Compression once for many.</b> A compressed stream depends on its past, which each viewer has another one of.
 * Here each event is deflated by itself and ends in a full flush: any sequence of such events, after a gzip header, is
 * a valid gzip stream. Two hundred backends are 250 kB a second in JSON and a tenth of it compressed, and the kernel's
 * copies of it are what fifty viewers cost. Rejected: differences from the event before (what a viewer that missed one
 * sees would be wrong, and most figures change anyway).
 *
 * <p><b>A viewer that cannot keep up</b> ({@link io.weir.dashboard.Viewer}) is passed over while its connection has not
 * taken the last event, and cut off after the third in a row. So a viewer never holds more than one event of the gateway's
 * memory, beside what its socket holds.
 *
 * <p><b>Figures.</b> Counters are read once a second; what is shown is their difference over the last ten seconds
 * ({@link io.weir.dashboard.Window}), as with Hystrix. Nothing is added to the way of a request but a count by outcome and
 * time ({@link io.weir.metrics.Tally}). Percentiles are of one gateway and of ten seconds: they are for the eye; alerts
 * go by the histograms that Prometheus has.
 *
 * <p><b>Order.</b> {@link io.weir.dashboard.Trouble} says how much is wrong with a backend in one word and one number, so
 * that the culprit stands on top.
 *
 * <p><b>Security.</b> The page is static and tells nothing, so it is served without the token; whatever it shows and does
 * goes through the management guard. The page asks for the token and sends it as any client does; {@code
 * EventSource} cannot, so the page reads the stream with {@code fetch}. The policy of the page's content allows nothing but
 * its own files, and no page may frame it.
 *
 * <p>Limitations: it shows the one gateway that it comes from. What happened before the last fifty events is in the
 * log.
 */
@NullMarked
package io.weir.dashboard;

import org.jspecify.annotations.NullMarked;
