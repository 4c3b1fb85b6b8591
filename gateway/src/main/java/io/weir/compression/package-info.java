/**
 * Compression of answers for single routes: {@code weir.routes.<id>.compression}.
 *
 * <p>{@link io.weir.compression.CompressionRule} decides with the head of the answer after all filters, so a
 * filter can switch it off ({@code Cache-Control: no-transform}). Unchanged are answers that are encoded,
 * small or partial, of other media types, or with a digest of their content; answers in HTTP/1.0, whose end
 * the caller could not see; gRPC; and the gateway's own.
 *
 * <p><b>gzip only.</b> The class path has no native library, and Brotli and Zstandard would need one. A
 * caller that prefers {@code br} gets gzip if it accepts it; a backend that encodes by itself is passed on.
 *
 * <p><b>Nothing is held back.</b> {@link io.weir.compression.GzipBody} flushes the encoder after each buffer
 * of the backend, so a caller can decode each event of a stream when it arrives. One buffer goes in and one
 * comes out, so demand, and with it the back-pressure, passes unchanged. Why not Netty's
 * {@code HttpContentCompressor}: it stays in the pipeline of a connection for all its requests, holds bytes
 * back until a block is full, and knows no route.
 *
 * <p><b>Memory.</b> Each compression under way holds the state of zlib. {@link
 * io.weir.compression.CompressionMemory} bounds them; beyond the bound answers pass as they are, which every
 * caller understands. A small answer that is complete takes the memory only within one event.
 *
 * <p><b>The head.</b> {@code Vary: Accept-Encoding} is on every answer that could be compressed. A strong
 * {@code ETag} becomes weak, because the bytes are others; so {@code If-None-Match} still finds it, and
 * {@code If-Match} and {@code If-Range} do not. A 304 and the answer to HEAD have the fields of the answer to
 * GET.
 *
 * <p>Compression runs on the caller's or the backend's event loop. It is the gateway's own time: neither the
 * backend's health nor its limit sees it, except as the time that the caller needs to read.
 */
@NullMarked
package io.weir.compression;

import org.jspecify.annotations.NullMarked;
