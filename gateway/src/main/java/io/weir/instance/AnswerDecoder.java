package io.weir.instance;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestEncoder;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseDecoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.netty.Connection;
import reactor.netty.NettyPipeline;

/**
 * Decodes the answers of an HTTP/1.1 connection to a backend, and lets none of their bytes reach another
 * exchange.
 *
 * <p>Netty's own decoder takes bytes after an answer for the beginning of the next one: a body after HEAD,
 * 204 or 304, a second answer, late bytes. With a pool, the next one is another caller's. Here the end of an
 * answer is passed on only when all that has arrived with it is decoded. If bytes remain, the answer is
 * complete all the same, but its connection is closed. Bytes that arrive while no request is under way close
 * the connection, too.
 *
 * <p>A body whose transfer coding is not {@code chunked} alone makes the answer malformed: Netty's decoder
 * would pass it on as it is, and the caller would never learn its coding.
 *
 * <p>The requests of a connection follow each other: Reactor Netty's client does not pipeline. Confined to
 * the event loop of the connection.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A connection that is being closed needs no result.
final class AnswerDecoder extends HttpResponseDecoder {

    private static final String ENCODER = "weir.encoder";

    private final Violations violations;
    /** The method of the request under way; null: none is. */
    private @Nullable HttpMethod method;
    /** The end of the answer, until everything that has arrived is decoded. */
    private @Nullable LastHttpContent end;

    private boolean isInformational;
    private boolean isTunnel;
    private boolean isClosing;
    private boolean isTruncated;
    private boolean isMalformed;
    private boolean mayHaveMore;
    private Violations.@Nullable Kind violation;

    private AnswerDecoder(HttpDecoderConfig config, Violations violations) {
        super(config);
        this.violations = violations;
    }

    /** Replaces Reactor Netty's codec in a new connection. */
    static void install(Channel connection, HttpDecoderConfig config, Violations violations) {
        AnswerDecoder decoder = new AnswerDecoder(config, violations);
        ChannelPipeline pipeline = connection.pipeline();
        pipeline.replace(NettyPipeline.HttpCodec, NettyPipeline.HttpCodec, decoder);
        pipeline.addAfter(NettyPipeline.HttpCodec, ENCODER, decoder.new Encoder());
    }

    /**
     * Notes the requests, and encodes them.
     *
     * <p>A backend may answer before it has read the whole request, and close. Then a write fails although
     * the answer has arrived and waits to be read. So a body that cannot be written is dropped, and what is
     * read decides: an answer, or the end of the connection.
     */
    private final class Encoder extends HttpRequestEncoder {

        private boolean isBodyDropped;

        @Override
        protected void encode(ChannelHandlerContext context, Object message, List<Object> out) throws Exception {
            if (message instanceof HttpRequest request) {
                method = request.method();
            }
            super.encode(context, message, out);
        }

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
            if (message instanceof HttpRequest || isTunnel) {
                isBodyDropped = false;
                closeOnFailedWrite(context, true);
                super.write(context, message, promise);
            } else if (isBodyDropped) {
                ReferenceCountUtil.release(message);
                promise.trySuccess();
            } else {
                closeOnFailedWrite(context, false);
                ChannelPromise part = context.newPromise();
                part.addListener(_ -> written(context, part.cause(), promise));
                super.write(context, message, part);
            }
        }

        private static void closeOnFailedWrite(ChannelHandlerContext context, boolean closes) {
            ChannelConfig config = context.channel().config();
            if (config.isAutoClose() != closes) {
                config.setAutoClose(closes);
            }
        }

        private void written(ChannelHandlerContext context, @Nullable Throwable cause, ChannelPromise promise) {
            if (cause == null) {
                promise.trySuccess();
            } else if (cause instanceof IOException) {
                isBodyDropped = true;
                Connection.from(context.channel()).markPersistent(false);
                promise.trySuccess();
            } else {
                promise.tryFailure(cause);
                context.close();
            }
        }
    }

    @Override
    protected boolean isContentAlwaysEmpty(HttpMessage message) {
        return HttpMethod.HEAD.equals(method) || super.isContentAlwaysEmpty(message);
    }

    @Override
    protected void decode(ChannelHandlerContext context, ByteBuf buffer, List<Object> out) throws Exception {
        if (isTunnel) {
            super.decode(context, buffer, out);
        } else if (isMalformed) {
            buffer.skipBytes(buffer.readableBytes());
        } else if (end != null || method == null) {
            violation = end == null ? Violations.Kind.BYTES_WITHOUT_REQUEST : Violations.Kind.BYTES_AFTER_ANSWER;
            buffer.skipBytes(buffer.readableBytes());
        } else {
            int before = out.size();
            super.decode(context, buffer, out);
            for (int i = before; i < out.size() && !isMalformed; i++) {
                decoded(out, i);
            }
        }
    }

    private void decoded(List<Object> out, int index) {
        Object message = out.get(index);
        if (message instanceof HttpResponse answer) {
            boolean switches = HttpResponseStatus.SWITCHING_PROTOCOLS.equals(answer.status());
            isInformational = answer.status().codeClass() == HttpStatusClass.INFORMATIONAL && !switches;
            isTunnel = switches;
            String codings = codings(answer);
            if (codings != null && !isContentAlwaysEmpty(answer)) {
                isMalformed = true;
                answer.setDecoderResult(DecoderResult.failure(new IllegalArgumentException(
                        "transfer-encoding: " + codings + " (expected: chunked, and nothing else)")));
                for (Object rest : out.subList(index + 1, out.size())) {
                    ReferenceCountUtil.release(rest);
                }
                out.subList(index + 1, out.size()).clear();
            }
        }
        if (message instanceof LastHttpContent last && !isInformational && !isTunnel && !isClosing) {
            end = last;
            out.remove(index);
        }
    }

    /** The transfer codings of an answer, if they are not {@code chunked} alone. */
    private static @Nullable String codings(HttpResponse answer) {
        Iterator<String> values = answer.headers().valueStringIterator(HttpHeaderNames.TRANSFER_ENCODING);
        if (!values.hasNext()) {
            return null;
        }
        String first = values.next();
        if (!values.hasNext()) {
            return HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(first.strip()) ? null : first;
        }
        return String.join(", ", answer.headers().getAll(HttpHeaderNames.TRANSFER_ENCODING));
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
        // A read that fills its buffer may have left bytes in the socket.
        mayHaveMore = message instanceof ByteBuf buffer && !buffer.isWritable();
        super.channelRead(context, message);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) throws Exception {
        if (end != null && violation == null && mayHaveMore) {
            readOnce(context);
        } else {
            passEnd(context);
        }
        super.channelReadComplete(context);
    }

    /** Passes the end on after the event loop has read the connection once more. */
    private void readOnce(ChannelHandlerContext context) {
        mayHaveMore = false;
        context.read();
        // The loop polls the connections between two of its rounds of tasks.
        context.executor().execute(() -> context.executor().execute(() -> passEnd(context)));
    }

    private void passEnd(ChannelHandlerContext context) {
        LastHttpContent last = end;
        Violations.Kind found = violation;
        end = null;
        violation = null;
        if (found != null) {
            violations.add(found, context.channel().remoteAddress());
            // Before the end of the answer, which otherwise returns the connection to the pool.
            Connection.from(context.channel()).markPersistent(false);
        }
        if (last != null) {
            method = null;
            context.fireChannelRead(last);
        }
        if (found != null) {
            context.close();
        }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) throws Exception {
        if (event instanceof SslCloseCompletionEvent tls) {
            isTruncated = !tls.isSuccess();
        }
        super.userEventTriggered(context, event);
    }

    @Override
    protected void decodeLast(ChannelHandlerContext context, ByteBuf buffer, List<Object> out) throws Exception {
        // Without the end of TLS, somebody else may have ended the connection (RFC 9112, 9.8).
        if (!isTruncated) {
            super.decodeLast(context, buffer, out);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) throws Exception {
        passEnd(context);
        // An answer without a length ends now.
        isClosing = true;
        super.channelInactive(context);
    }

    @Override
    protected void handlerRemoved0(ChannelHandlerContext context) throws Exception {
        ReferenceCountUtil.release(end);
        end = null;
        super.handlerRemoved0(context);
    }
}
