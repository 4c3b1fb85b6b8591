/**
 * The live dashboard: a stream of snapshots, a page that draws it, and a stream in Hystrix's format.
 *
 * <p><b>One snapshot a second</b> ({@link io.weir.dashboard.LiveFeed}), for any number of clients: it is
 * computed, encoded and compressed once, on a thread of its own, and all clients get the same bytes. Each
 * event is complete, so a missed event does no harm, and a connection is the only state of a client.
 *
 * <p><b>Compressed once for all clients.</b> In a usual compressed stream, each event depends on all earlier
 * bytes, which differ for each client. Here {@link io.weir.dashboard.EventFrames} deflates each event
 * separately, up to a full flush: any sequence of such events after a gzip header is a valid gzip stream. Two
 * hundred backends are 250 kB a second in JSON, and a tenth of it compressed; fifty clients cost only the
 * kernel's copies. Rejected: differences to the previous event. A client that missed one would show wrong
 * figures, and most figures change anyway.
 *
 * <p><b>A slow client</b> ({@link io.weir.dashboard.StreamClient}) misses events while its connection has not
 * sent the last one, and is disconnected after three misses in a row. So a client holds at most one event in
 * the gateway's memory, besides its socket's buffers.
 *
 * <p><b>Figures.</b> Counters are read once a second. The page shows their increase over the last ten seconds
 * ({@link io.weir.dashboard.SlidingWindow}), as Hystrix does. A request only counts its outcome and duration
 * ({@link io.weir.metrics.ExchangeTotals}). Percentiles cover one gateway and ten seconds: they are only for
 * display. Alerts use the histograms in Prometheus.
 *
 * <p><b>Instances.</b> The card of a backend with several instances has a cell for each. Up to eight are
 * lines with address, state and load. More are small cells: of an instance that is closed its calls in
 * flight, else its state. All have the same tooltip, and all cells of a card are one tab stop.
 *
 * <p><b>Order.</b> {@link io.weir.dashboard.Severity} reduces the problems of a backend to one word and one
 * number, so that the most serious backend is on top.
 *
 * <p><b>Security.</b> The page is static and holds no data, so it is served without the token. All data and
 * changes pass the management guard. The page asks for the token and sends it in a header; {@code
 * EventSource} cannot send headers, so the page reads the stream with {@code fetch}. The content security
 * policy permits only the page's own files, and forbids framing.
 *
 * <p><b>Limitations.</b> The page shows one gateway. Events older than the last fifty are only in the log.
 */
@NullMarked
package io.weir.dashboard;

import org.jspecify.annotations.NullMarked;
