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
 * <p><b>Cards or a table.</b> The page shows cards as long as they fit into three rows, which depends on the
 * width; else a table with a row for each backend, which opens to the card. The operator can choose, and the
 * browser keeps the choice. The rows are drawn in place: a snapshot changes texts, and creates no elements.
 * Only graphs in view are drawn, since a graph costs more than the other figures of its row together; texts
 * are always drawn, for the browser's search and for screen readers. Rejected: drawing only the rows in view.
 * Neither the search nor a screen reader would find the others, and the texts of 200 rows took 10 to 30 ms a
 * second on two busy cores.
 *
 * <p><b>Order.</b> {@link io.weir.dashboard.Severity} reduces the problems of a backend to one word and one
 * number, so that the most serious backend is on top. The share of the requests that were shed or failed
 * counts as if there had been twenty at least: by the plain share, one failed call would put an idle backend
 * above a busy one of which half the calls fail. Rejected: the lower bound of a confidence interval, which
 * nobody can compute from the figures on the page. The page orders by bands of this number, and by name
 * within a band. A backend rises into a higher band at once, and falls after five seconds without the
 * trouble: rows that swap each second cannot be read or clicked. For the same reason the order by traffic
 * ranks backends by steps of their rate, each half as much again as the one below.
 *
 * <p><b>The limit's graph</b> shows the limit and the calls in flight each second, and a mark where the limit
 * moved. {@link io.weir.dashboard.LimitMovement} names the reason: the limit's own one is right only if the
 * limit has learnt, and not if a recovery, an operator, the instances or the configuration moved it.
 * Measurements with fewer calls, which an adaptive limit makes every few seconds, are marked, but not listed
 * among the changes.
 *
 * <p><b>Security.</b> The page is static and holds no data, so it is served without the token. All data and
 * changes pass the management guard. The page asks for the token and sends it in a header; {@code
 * EventSource} cannot send headers, so the page reads the stream with {@code fetch}. The content security
 * policy permits only the page's own files, and forbids framing.
 *
 * <p><b>All gateways.</b> If DNS lists several gateways, the page asks its own gateway every five seconds for
 * their states ({@code io.weir.fleet}), and shows a row for each above the backends: those that were not
 * reached first, then by their worst backend. Not every second, since each answer costs a request to each
 * gateway; not while the page is hidden.
 *
 * <p><b>Limitations.</b> All other figures are of one gateway; Grafana shows the figures of all gateways
 * together. The limit's graph has one figure for each second: of several movements within a second it shows
 * the last one's reason. Events older than the last fifty are only in the log.
 */
@NullMarked
package io.weir.dashboard;

import org.jspecify.annotations.NullMarked;
