/**
 * The edge: what callers are held to before there is an exchange, and what is believed of them.
 *
 * <h2>What it protects against</h2>
 *
 * <ul>
 *   <li><b>Requests that gateway and backend read differently</b> (smuggling, traversal): one spelling per path or a refusal, one {@code Host}, one
 *       framing, no folded fields, no bare carriage returns, no {@code CONNECT}. See {@link io.weir.edge.RequestTarget}.
 *   <li><b>Callers who hold connections</b>: a head that stalls or drips is refused by one deadline that no byte prolongs, idle connections are closed, and so is
 *       whatever is over the limit; a refusal that its caller does not take is broken off.
 *   <li><b>Callers who send what nobody reads</b>: 64 KiB of it are dropped, then the connection ends, in a way that still lets them read the answer.
 *   <li><b>Callers who lie about themselves</b>: forwarded headers are believed from trusted networks only. See {@link io.weir.edge.Forwarding}.
 * </ul>
 *
 * <h2>Where it stands</h2>
 *
 * <pre>
 *  HTTP/1:  TLS ► Http1Framer ► codec ► Http1Guard ► traffic handler ► LastAnswer ► Reactor Netty
 *  HTTP/2:  TLS ► Http2Framer ► codec ► Http2Guard ► streams ► Reactor Netty
 * </pre>
 *
 * Reactor Netty builds the pipelines, and {@link io.weir.edge.EdgeServerCustomizer} puts handlers between its own. They are there because the server has no options for what they do:
 * it answers malformed requests by itself, without a body; its idle timeout is prolonged by any byte; its request timeout begins behind the head; it drops unread bodies without bound; and when a request's body turns out to be malformed,
 * it completes the answer that is half written. What is refused here has the shape of every other refusal, and is told to an {@link io.weir.edge.EdgeListener}, since no exchange will tell of it.
 *
 * <p>Two handlers per protocol, since two things are to be known. Only the bytes tell that a head has begun, and hide nothing of how it was written: the codec unfolds fields, and takes a carriage return for a space. Only behind the codec it
 * is known what a message is, and where it ends. The one in front does not parse what the codec parses: it follows the ends of lines and asks behind the codec how the body is framed, so that the two cannot disagree.
 *
 * <h2>Decisions</h2>
 *
 * <ul>
 *   <li>A refusal is the last answer on its HTTP/1 connection, and keeps its place behind the answers to earlier requests. On HTTP/2 it ends its stream.
 *   <li>The head's deadline runs from the connection for the first head, TLS included, and from its first byte for later ones; while an answer is in progress, none runs. A connection on which
 *       no byte of a request has come is closed without a word: browsers open connections in advance, and show what they find there.
 *   <li>Timers are lazy: one task per connection, which re-arms itself. Reactor Netty's own idle timeout, a handler and a task for every request, stays off.
 *   <li>{@code ..} above the root is refused, not clamped: nobody means it well. Queries are left alone, since signatures are made over them.
 *   <li>Fields that are meant for everybody are kept even where {@code Connection} names them. See {@link io.weir.edge.HopByHop}.
 *   <li>Where {@code Connection: close} comes with a request that waits behind others, it is kept from Reactor Netty until that request is answered: its {@code HttpTrafficHandler} (1.3.8) keeps one
 *       {@code persistentConnection} for the connection, sets it from the request that it has read last, and drops what is queued once that is false.
 *   <li>A caller who shuts down its output has left. Half-closed connections would be the only sign of life of a caller that is gone, and the backend would
 *       work on for nobody.
 *   <li>A connection ends lingering where something unread may be under way: flushed, output shut down, up to 64 KiB dropped, then held without reading until the caller closes, for 2 s at most. Closed at once, it
 *       would be reset, and the answer lost with it.
 *   <li>While the gateway drains, {@code Connection: close} is said in front of Reactor Netty's traffic handler, so that it drops what is pipelined behind that answer. HTTP/2 callers get a
 *       GOAWAY that takes no stream away from them, and a second one, with the last stream served, when the connection closes.
 *   <li>An upgrade to HTTP/2 is understood on a connection's first request, if that has no body: Netty's handler for it would hold bodies, and answer {@code Expect} before there is a permit. It is removed after the first request.
 *   <li>HTTP/2's limit of header lists is the sum of the other limits, so that what is a little too large is refused here, in the vocabulary's shape, and only what is far too large by the codec, in its own.
 * </ul>
 *
 * <h2>Concurrency</h2>
 *
 * Everything about a connection is confined to its event loop. {@link io.weir.edge.ConnectionRegistry} is shared: a concurrent set and an atomic count.
 *
 * <h2>Limitations</h2>
 *
 * <ul>
 *   <li>A violation of HTTP/2 that the codec finds has no method and no target, and a header list that it finds too large is told as a bad request, though the caller is answered 431.
 *   <li>A body whose chunks are malformed ends in a 400 of the edge's; the exchange, if it had begun, ends as one whose caller left. If its answer had begun, the connection is reset.
 *   <li>More pipelined requests in one read than Netty's codec holds end the connection behind the next answer.
 *   <li>An HTTP/2 body that nobody reads is counted from the moment when its answer is flushed.
 *   <li>HTTP/3 and the PROXY protocol are not guarded.
 * </ul>
 */
@NullMarked
package io.weir.edge;

import org.jspecify.annotations.NullMarked;
