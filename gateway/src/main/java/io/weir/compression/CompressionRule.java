package io.weir.compression;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.AsciiString;
import io.weir.outcome.Problem;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

/** Which answers of a route are compressed, and the changes of their heads. Immutable. */
public final class CompressionRule {

    /** An answer whose length is not known before its end. */
    public static final long UNKNOWN_LENGTH = -1;

    private static final String WEAK = "W/";
    private static final AsciiString NO_TRANSFORM = AsciiString.cached("no-transform");
    /** Digests of the content, which would change; the digests of a representation change with its coding. */
    private static final List<AsciiString> DIGESTS = List.of(
            AsciiString.cached("content-digest"),
            AsciiString.cached("repr-digest"),
            AsciiString.cached("digest"),
            AsciiString.cached("content-md5"));

    private final long minBytes;
    private final MediaTypes types;
    private final CompressionMemory memory;

    /**
     * The rule of a route.
     *
     * @param memory limits all compressions of the gateway
     */
    public CompressionRule(CompressionProperties properties, CompressionMemory memory) {
        this.minBytes = properties.minSize().toBytes();
        this.types = new MediaTypes(properties.contentTypes());
        this.memory = memory;
    }

    /**
     * Whether an answer's body must be compressed; then {@link #encode} must change its head. Adds
     * {@code Vary} to every answer whose form depends on the caller's {@code Accept-Encoding}. The head of an
     * answer to HEAD, or of one with status 304, becomes that of the answer to GET.
     *
     * @param method the request's method
     * @param request the request's head
     * @param status the answer's status
     * @param answer the answer's head
     * @param length the body's length in bytes, or {@link #UNKNOWN_LENGTH}
     */
    public boolean applies(HttpMethod method, HttpHeaders request, int status, HttpHeaders answer, long length) {
        boolean isNotModified = status == HttpResponseStatus.NOT_MODIFIED.code();
        if (!isNotModified && !isCompressible(method, status, answer, length)) {
            return false;
        }
        addVary(answer);
        boolean isWanted = AcceptEncoding.acceptsGzip(request.getAll(HttpHeaderNames.ACCEPT_ENCODING));
        if (isNotModified) {
            if (isWanted) {
                weakenTag(answer);
            }
            return false;
        }
        if (!isWanted || !memory.hasRoom()) {
            return false;
        }
        if (HttpMethod.HEAD.equals(method)) {
            encode(answer);
            return false;
        }
        return true;
    }

    private boolean isCompressible(HttpMethod method, int status, HttpHeaders answer, long length) {
        boolean hasBody = length != 0 || HttpMethod.HEAD.equals(method);
        return hasBody
                && (length == UNKNOWN_LENGTH || length >= minBytes)
                && maySendWhole(status)
                && types.contains(answer.get(HttpHeaderNames.CONTENT_TYPE))
                && !Problem.isGrpc(answer)
                && !answer.contains(HttpHeaderNames.CONTENT_ENCODING)
                && !answer.contains(HttpHeaderNames.CONTENT_RANGE)
                && !answer.containsValue(HttpHeaderNames.CACHE_CONTROL, NO_TRANSFORM, true)
                && DIGESTS.stream().noneMatch(answer::contains);
    }

    private static boolean maySendWhole(int status) {
        return status >= HttpResponseStatus.OK.code()
                && status != HttpResponseStatus.NO_CONTENT.code()
                && status != HttpResponseStatus.RESET_CONTENT.code()
                && status != HttpResponseStatus.PARTIAL_CONTENT.code();
    }

    /** Changes the head of an answer to that of its compressed form, whose length is not known. */
    public static void encode(HttpHeaders answer) {
        answer.set(HttpHeaderNames.CONTENT_ENCODING, HttpHeaderValues.GZIP);
        answer.remove(HttpHeaderNames.CONTENT_LENGTH);
        // Ranges of the backend's answer are not ranges of the compressed one.
        answer.remove(HttpHeaderNames.ACCEPT_RANGES);
        weakenTag(answer);
    }

    /** A strong tag promises equal bytes. */
    private static void weakenTag(HttpHeaders answer) {
        String tag = answer.get(HttpHeaderNames.ETAG);
        if (tag != null && !tag.startsWith(WEAK)) {
            answer.set(HttpHeaderNames.ETAG, WEAK + tag);
        }
    }

    private static void addVary(HttpHeaders answer) {
        if (!answer.containsValue(HttpHeaderNames.VARY, HttpHeaderNames.ACCEPT_ENCODING, true)
                && !answer.containsValue(HttpHeaderNames.VARY, "*", true)) {
            List<String> known = answer.getAll(HttpHeaderNames.VARY);
            answer.set(
                    HttpHeaderNames.VARY,
                    (known.isEmpty() ? "" : String.join(", ", known) + ", ") + HttpHeaderNames.ACCEPT_ENCODING);
        }
    }

    /** A body in compressed form, as it arrives. */
    public Publisher<ByteBuf> stream(Publisher<ByteBuf> body, ByteBufAllocator allocator) {
        return new GzipBody(body, allocator, memory);
    }

    /** The compressed form of a whole body, which remains the caller's; null: it would not be smaller. */
    public static @Nullable ByteBuf compress(ByteBuf body, ByteBufAllocator allocator) {
        ByteBuf compressed = Gzip.compress(body, allocator);
        if (compressed.readableBytes() < body.readableBytes()) {
            return compressed;
        }
        compressed.release();
        return null;
    }
}
