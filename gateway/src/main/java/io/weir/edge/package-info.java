/**
 * The edge: the rules for callers' connections and requests before there is an exchange, and the trust in
 * forwarded headers.
 *
 * <h2>Threats</h2>
 *
 * <ul>
 *   <li><b>Requests that gateway and backend read differently</b> (smuggling, traversal): a path has one
 *       spelling or is refused; a request has one {@code Host} and one framing, no folded fields, no bare
 *       carriage returns, no tabs between the parts of the request line, and no {@code CONNECT}. See
 *       {@link io.weir.edge.RequestTarget}.
 *   <li><b>Callers that occupy connections</b>: a head that stalls or drips is refused at one deadline that
 *       no byte prolongs. Idle connections and connections over the limit are closed. If a caller does not
 *       read a refusal, the connection is reset.
 *   <li><b>One caller that takes all connections or requests</b>: each address has a limit of both. See
 *       {@link io.weir.edge.ClientLimits}.
 *   <li><b>Callers that send unwanted bodies</b>: 64 KiB are dropped; then the connection ends, but the
 *       caller can still read the response.
 *   <li><b>Callers that flood an HTTP/2 connection</b> with frames that cost the gateway more than the
 *       caller, such as pings, settings and empty bodies, or with calls that they break off, by resets (rapid
 *       reset) or by violations that the gateway must answer with a reset (MadeYouReset). See
 *       {@link io.weir.edge.Http2FrameBudget}.
 *   <li><b>More callers than the gateway can serve</b>: while an event loop sheds, requests are refused at
 *       their decoded head by {@link io.weir.edge.EdgeShedding}, connections are accepted slowly, and TLS
 *       handshakes wait for their turn. Such a refusal keeps an HTTP/1.1 connection open: a new one would
 *       cost more than the refusal. See {@link io.weir.edge.AcceptLimiter} and
 *       {@link io.weir.edge.HandshakeGate}.
 *   <li><b>Callers of another protocol or host</b>: a TLS client that offers only unknown protocols is
 *       refused ({@link io.weir.edge.AlpnCheck}), and so is a request for a host with another certificate
 *       than the connection's ({@link io.weir.edge.VirtualHosts}).
 *   <li><b>Callers that fill the log</b>: a caller's fault is one line at debug, and a counter. See {@link
 *       io.weir.edge.UncaughtErrors}.
 *   <li><b>Callers that forge their address</b>: forwarded headers are trusted from configured networks only.
 *       See {@link io.weir.edge.Forwarding} and {@link io.weir.edge.OtherSpellings}. The PROXY protocol's
 *       header is read from those networks only. See {@link io.weir.edge.ProxyHeaderHandler}.
 * </ul>
 *
 * <h2>The engine of TLS</h2>
 *
 * A full handshake with the JDK's engine costs several times as much as with BoringSSL, so a crowd that
 * reconnects is an outage that the gateway makes itself. {@link io.weir.edge.TlsEngine} chooses, and
 * {@link io.weir.edge.ServerTls} takes the place of Spring Boot's TLS: that leaves native contexts to the
 * garbage collector, and cannot choose. Contexts to backends are left to it, too: a connection attempt may
 * begin long after its pool was retired, and pools are few. The operating system's OpenSSL was rejected: its
 * version, and so its flaws, would differ from server to server.
 *
 * <h2>Pipelines</h2>
 *
 * <pre>
 *  HTTP/1:  TLS ► Http1Scanner ► codec ► Http1Guard ► traffic handler ► LastResponseHandler ► Reactor Netty
 *  HTTP/2:  TLS ► Http2Scanner ► codec ► Http2Guard ► streams ► Reactor Netty
 * </pre>
 *
 * {@link io.weir.edge.HandshakeGate} and {@link io.weir.edge.AlpnCheck} precede TLS. Netty's
 * {@code FlushConsolidationHandler} follows it, and {@link io.weir.edge.HandshakeEvents} until the handshake
 * ends. The port that redirects to https has the pipeline of HTTP/1 without TLS. With {@code proxy-protocol},
 * {@link io.weir.edge.ProxyHeaderHandler} precedes both, and removes itself after the header.
 *
 * <p>Reactor Netty builds the pipelines, and {@link io.weir.edge.EdgeServerCustomizer} inserts handlers
 * between its own. Reactor Netty has no options that do the same. It answers malformed requests itself,
 * without a body; any byte prolongs its idle timeout; its request timeout starts after the head; it drops
 * unread bodies without a bound; and when a request's body turns out to be malformed, it completes the
 * half-written response. A refusal of the edge has the same form as every other refusal. It is reported to an
 * {@link io.weir.edge.EdgeListener}, because no exchange reports it.
 *
 * <p>Each protocol needs two handlers. Only the raw bytes show that a head has begun, and its exact spelling:
 * the codec unfolds fields, and reads a carriage return as a space. Only the codec's output shows the kind of
 * a message, and its end. The scanner does not repeat the codec's work: it follows the ends of lines, and
 * reads the body's framing from the decoded request, so that scanner and codec cannot disagree.
 *
 * <p>{@link io.weir.edge.Http1RequestChecks} and {@link io.weir.edge.Http2RequestChecks} decide about a
 * request, {@link io.weir.edge.Http1ConnectionState} about an HTTP/1 connection. The guards do the I/O.
 *
 * <h2>Decisions</h2>
 *
 * <ul>
 *   <li>On HTTP/1, a refusal of a malformed request is the connection's last response, and keeps its place
 *       after the responses to earlier requests. On HTTP/2, it ends its stream.
 *   <li>The deadline of the first head starts with the connection and includes TLS; the deadline of a later
 *       head starts with its first byte. No deadline runs while a response is in progress. A connection
 *       without any byte of a request is closed without a response: browsers open connections in advance, and
 *       would show the response.
 *   <li>Timers are lazy: a connection has one task, which schedules itself again. Reactor Netty's own idle
 *       timeout costs a handler and a task per request, and stays off.
 *   <li>{@code ..} above the root is refused, not clamped, because only attackers send it. Queries are left
 *       alone, because signatures cover them. Only characters that no URI may contain are encoded, in the
 *       guards: browsers send them, and Spring's parser, like those of many backends, refuses them.
 *   <li>A fragment is refused. No client sends one, and readers that drop it disagree with those that do not.
 *   <li>End-to-end fields are kept even if {@code Connection} names them. See {@link io.weir.edge.HopByHop}.
 *   <li>{@code Date} is added where the responses of both doors, and those of the edge itself, leave the
 *       gateway. See {@link io.weir.edge.DateField}. {@link io.weir.edge.DateHandler} adds it to those of the
 *       management port over HTTP/2.
 *   <li>The management port has the same guards, with fixed limits: half a head, or any number of
 *       connections, must not take the files that the process may open from the callers' port
 *       ({@link io.weir.edge.OpenFiles}).
 *   <li>{@code Connection: close} in a request that waits behind others is hidden from Reactor Netty until
 *       that request is answered. Its {@code HttpTrafficHandler} (1.3.8) has one {@code persistentConnection}
 *       flag per connection, sets it from the request that it has read last, and drops the queued requests
 *       once the flag is false.
 *   <li>A caller that shuts down its output counts as gone. The gateway cannot distinguish a half-closed
 *       connection from one whose caller has left, and for the latter the backend would work for nothing.
 *   <li>A connection lingers when input may be unread: it is flushed, its output is shut down, up to 64 KiB
 *       of input are dropped, and then it is kept unread until the caller closes it, for at most 2 s. An
 *       immediate close would reset the connection, and the response would be lost.
 *   <li>During a drain, {@code Connection: close} is set before Reactor Netty's traffic handler sees the
 *       response, so that the traffic handler drops the requests that are pipelined behind it. HTTP/2 callers
 *       get a GOAWAY that cancels no stream, and a second one with the last served stream when the connection
 *       closes.
 *   <li>An upgrade to HTTP/2 is accepted in a connection's first request, if the request has no body: Netty's
 *       upgrade handler would aggregate bodies, and would answer {@code Expect} before there is a permit. The
 *       handler is removed after the first request.
 *   <li>Extended CONNECT (RFC 8441) is not announced to callers, and is refused like CONNECT. Clients open a
 *       WebSocket over HTTP/1.1 then, also beside an HTTP/2 connection. To backends it is used.
 *   <li>A malformed HTTP/2 head (RFC 9113, 8.3.1) resets its stream and gets no response. Frames of streams
 *       that the caller has ended, and new streams below earlier ones, end the connection: Netty's codec
 *       forgets closed streams, so {@link io.weir.edge.Http2StreamHistory} remembers the latest ones.
 *   <li>Frames of a stream that the gateway has reset do not reach the codec (RFC 9113, 5.1). The codec does
 *       not know a stream that it has refused for its limit or its malformed head, and takes frames that were
 *       under way for those of a stream that was never opened: it would end the connection, with the calls of
 *       all callers that share it. Rejected alternative: to let the codec open each stream, and refuse it in
 *       the guard. A malformed head opens none.
 *   <li>A first line that names no protocol, such as a malformed HTTP/2 preface, closes the connection
 *       without a response: the caller does not use HTTP/1.
 *   <li>Netty's limits of resets are off. They count 200 resets in 30 s regardless of the cause, and would
 *       end all calls of a proxy's connection because one backend hangs or breaks off its responses.
 *   <li>HTTP/2's limit of header lists is the sum of the other limits. So the guard refuses slightly larger
 *       lists in the form of every other refusal, and the codec refuses only much larger ones in its own
 *       form.
 *   <li>The default limits per client are half of the limits of all. They are exact: a sketch of fixed size
 *       would need no map, but would refuse clients whose slots are full of others' connections.
 *   <li>The PROXY protocol's command {@code LOCAL} keeps the balancer's address, as the specification says.
 *       For {@code UNKNOWN} the specification says the same, but then the caller's forwarded fields would be
 *       believed as the balancer's. So such a caller has no address, and is {@code unknown}.
 *   <li>{@code proxy-protocol: optional} guesses from the first bytes, which the specification forbids
 *       because a caller behind a balancer without the protocol can forge them. It exists to introduce the
 *       protocol without an interruption.
 *   <li>{@link io.weir.edge.Networks} does not use Netty's {@code IpSubnetFilterRule} (4.2.18). That
 *       rule compares an IPv6 address to the mask as well as to the network, and so matches any address whose
 *       prefix bits are all ones: {@code fd00::/8} would trust {@code ff02::1}. It also resolves host names
 *       at start, ignores bits beyond the prefix length, and computes with {@code BigInteger} for each IPv6
 *       request. The parser of addresses is Netty's.
 * </ul>
 *
 * <h2>Concurrency</h2>
 *
 * The state of a connection is confined to its event loop. {@link io.weir.edge.ConnectionRegistry} is shared:
 * a concurrent set and an atomic count. {@link io.weir.edge.ClientLimits} is shared: one atomic per client.
 *
 * <h2>Limitations</h2>
 *
 * <ul>
 *   <li>The codec reports a violation of HTTP/2 without a method and a target. A header list that is too
 *       large for the codec is reported as a bad request, although the caller receives 431.
 *   <li>An HTTP/2 stream with too many trailers is reset; on HTTP/1, the answer is a 431 if none has begun.
 *   <li>A malformed chunked body ends in a 400 from the edge; its exchange, if it has begun, ends as if the
 *       caller had left. If the response has begun, the connection is reset.
 *   <li>If one read contains more pipelined requests than Netty's codec holds, the connection ends after the
 *       next response.
 *   <li>An unread HTTP/2 body is counted from the flush of its response.
 *   <li>HTTP/3 is not guarded.
 *   <li>Of the PROXY protocol, only the caller's address is used: neither the TLS extension nor the checksum.
 *   <li>A request that a trusted proxy forwards without an address counts for no client.
 * </ul>
 *
 * <p>The window of a caller's HTTP/2 connection is 1 MiB, 16 times that of a stream: uploads that a backend
 * does not read must not hold up the other uploads of the connection. A stream whose caller leaves is closed
 * even if a part of its body is unread ({@link io.weir.edge.StreamEndHandler}).
 */
@NullMarked
package io.weir.edge;

import org.jspecify.annotations.NullMarked;
