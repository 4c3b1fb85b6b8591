package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerUpgradeHandler;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Frame;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.weir.outcome.Problem;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.nio.channels.ClosedChannelException;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import reactor.netty.NettyPipeline;

/**
 * Holds an HTTP/1 connection to the rules, between the codec and Reactor Netty.
 *
 * <pre>
 *          malformed, or too slow              all earlier answers written
 *  OPEN ──────────────────────────► REFUSING ──────────────────────────────► LINGERING ──► closed
 *   │ │                                                                          ▲
 *   │ └── answered, and more than 64 KiB of the request are still coming ────────┘
 *   └──── 101 ──► UPGRADED
 * </pre>
 *
 * <p>Reactor Netty answers what the codec refuses by itself, without a body and with a log line of its own, completes an answer that
 * is half written when a request's body turns out to be malformed, and reads on without bound when nobody wants a body. So none of that
 * gets to see it.
 *
 * <p>A refusal keeps its place: requests that came before it on the connection are answered first. It is the connection's last answer, since
 * nobody knows where the next request would begin.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // What becomes of a write or a close, the channel tells.
final class Http1Guard extends ChannelDuplexHandler implements CallerConnection.Guard {

    private enum State {
        OPEN,
        /** Nothing that comes is looked at; a refusal waits for its turn. */
        REFUSING,
        /** The last answer is written; the caller may read it, while what it sends is dropped. */
        LINGERING,
        UPGRADED
    }

    private static final int DETAIL_MAX_CHARS = 160;
    private static final Pattern CLOSE = Pattern.compile("(?<![^\\s,])close(?![^\\s,])", Pattern.CASE_INSENSITIVE);

    private final CallerConnection connection;
    private final EdgeRules rules;
    private final Http1Framer framer;
    private boolean mayUpgrade;

    private State state = State.OPEN;
    private boolean upgradedToHttp2;
    /** Requests that have been passed on and whose answers are not complete. */
    private int outstanding;
    /** The request whose body has not come to its end. */
    private @Nullable HttpRequest reading;

    private long readBytes;
    private long unreadBytes;
    /** The head of an answer is written, and not its end. */
    private boolean answering;
    /** The answer in progress is the last one. */
    private boolean closing;
    /** The caller wants no answer behind those to the requests that have come. */
    private boolean lastAsked;
    /** A request has been answered. */
    private boolean served;
    /** A head's time is running. */
    private boolean timed;

    private @Nullable Refusal refusal;
    private int refusalsTurn;

    /** While lingering: everything has been flushed. */
    private boolean flushed;
    /** While lingering: nothing is expected but the end of the last request; and it has come. */
    private boolean awaitsEnd;

    private boolean inputEnded;
    private long pendingBytes;
    private @Nullable ChannelHandlerContext ctx;

    private Http1Guard(CallerConnection connection, boolean mayUpgrade) {
        this.connection = connection;
        this.rules = connection.rules();
        this.mayUpgrade = mayUpgrade;
        this.framer = new Http1Framer(this);
    }

    /** Guards a connection whose pipeline has an HTTP/1 codec. */
    static void install(ChannelPipeline pipeline, CallerConnection connection) {
        String codec = pipeline.context(HttpServerCodec.class).name();
        Http1Guard guard = new Http1Guard(connection, pipeline.get(HttpServerUpgradeHandler.class) != null);
        pipeline.addBefore(codec, null, guard.framer);
        pipeline.addAfter(codec, null, guard);
        pipeline.addAfter(NettyPipeline.HttpTrafficHandler, null, new LastAnswer(guard));
        pipeline.addAfter(NettyPipeline.HttpTrafficHandler, null, RequestTrailers.ofConnection());
        connection.guardedBy(guard);
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        ctx = context;
    }

    // ---------------------------------------------------------------- what the framer asks and tells

    /** Whether a request's body has not come to its end. */
    boolean isReading() {
        return reading != null;
    }

    /** The length of that body; -1: it is chunked. */
    long contentLength() {
        HttpRequest request = reading;
        if (request == null) {
            return 0;
        }
        return HttpUtil.isTransferEncodingChunked(request) ? -1 : HttpUtil.getContentLength(request, 0L);
    }

    /** Whether what comes is not looked at any more. */
    boolean refusesInput() {
        return state == State.REFUSING || state == State.LINGERING || isBehindLast();
    }

    /** Whether all has come that the caller may ask for on this connection. */
    private boolean isBehindLast() {
        return lastAsked && reading == null;
    }

    boolean isUpgradedToHttp2() {
        return upgradedToHttp2;
    }

    /** Bytes have come, and been decoded as far as they go. */
    void bytesRead() {
        if (state == State.OPEN && outstanding == 0 && !timed && framer.isInHead()) {
            timeHead();
        }
    }

    /** The bytes are not what a sound client sends. */
    void malformed(String detail) {
        if (state == State.OPEN) {
            Refusal bad = Refusal.of(Reason.BAD_REQUEST, detail);
            if (reading == null) {
                refuse(bad, null);
            } else {
                malformedBody(bad);
            }
        }
    }

    // ---------------------------------------------------------------- requests

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof HttpRequest request) {
            onRequest(context, request);
        } else if (message instanceof HttpContent content) {
            onContent(context, content);
        } else if (message instanceof Http2Frame && state == State.OPEN) {
            // HTTP/2 with prior knowledge.
            becomeHttp2();
            context.fireChannelRead(message);
        } else {
            context.fireChannelRead(message);
        }
    }

    private void onRequest(ChannelHandlerContext context, HttpRequest request) {
        if (state != State.OPEN || isBehindLast()) {
            ReferenceCountUtil.release(request);
            return;
        }
        Refusal bad = check(request);
        if (bad != null) {
            ReferenceCountUtil.release(request);
            if (context.channel().isActive()) {
                refuse(bad, request);
            }
            return;
        }
        if (mayUpgrade) {
            limitUpgrade(context, request);
        }
        if (outstanding > 0 && !HttpUtil.isKeepAlive(request)) {
            lastAsked = true;
            hideClose(request.headers());
        }
        connection.expireNever();
        timed = false;
        reading = request;
        readBytes = 0;
        outstanding++;
        context.fireChannelRead(request);
    }

    private void onContent(ChannelHandlerContext context, HttpContent content) {
        if (state != State.OPEN) {
            if (state == State.UPGRADED) {
                context.fireChannelRead(content);
                return;
            }
            content.release();
            if (awaitsEnd && content instanceof LastHttpContent) {
                endOfInput(context);
            }
            return;
        }
        if (isBehindLast()) {
            content.release();
            return;
        }
        if (content.decoderResult().isFailure()) {
            Refusal bad = describe(content.decoderResult().cause());
            content.release();
            malformedBody(bad);
            return;
        }
        int bytes = content.content().readableBytes();
        readBytes += bytes;
        boolean last = content instanceof LastHttpContent;
        if (last) {
            reading = null;
        }
        if (outstanding > 0) {
            context.fireChannelRead(content);
            return;
        }
        // It has been answered already. Reactor Netty drops this, and reads on.
        unreadBytes += bytes;
        context.fireChannelRead(content);
        if (last) {
            idle();
        } else if (unreadBytes > EdgeRules.UNREAD_MAX_BYTES) {
            linger(context);
        }
    }

    /**
     * Reactor Netty goes by the request that it has read last, not by the one that it answers: it would drop all that wait for their turn. So it is told by the last
     * one's answer.
     */
    private static void hideClose(HttpHeaders headers) {
        List<String> named = headers.getAll(HttpHeaderNames.CONNECTION);
        headers.set(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE);
        for (String names : named) {
            headers.add(HttpHeaderNames.CONNECTION, CLOSE.matcher(names).replaceAll("keep-alive"));
        }
    }

    private @Nullable Refusal check(HttpRequest request) {
        DecoderResult result = request.decoderResult();
        if (result.isFailure()) {
            return describe(result.cause());
        }
        HttpVersion version = request.protocolVersion();
        // The decoder makes other objects of other versions.
        if (!isSame(version, HttpVersion.HTTP_1_1) && !isSame(version, HttpVersion.HTTP_1_0)) {
            return Refusal.of(
                    Reason.BAD_REQUEST, "protocol: " + version.text() + " (expected: HTTP/1.1, HTTP/1.0 or HTTP/2)");
        }
        if (HttpMethod.CONNECT.equals(request.method())) {
            return Refusal.of(Reason.BAD_REQUEST, "method: CONNECT (expected: one that is not meant for proxies)");
        }
        HttpHeaders headers = request.headers();
        if (headers.size() > rules.maxHeaderCount()) {
            return Refusal.of(
                    Reason.HEADERS_TOO_LARGE,
                    "fields: " + headers.size() + " (expected: at most " + rules.maxHeaderCount() + ")");
        }
        String framing = badFraming(headers);
        if (framing != null) {
            return Refusal.of(Reason.BAD_REQUEST, abbreviated(framing));
        }
        Iterator<String> hosts = headers.valueStringIterator(HttpHeaderNames.HOST);
        if (!hosts.hasNext()) {
            return isSame(version, HttpVersion.HTTP_1_0)
                    ? null
                    : Refusal.of(Reason.BAD_REQUEST, "host: missing (expected: one)");
        }
        String host = hosts.next();
        if (hosts.hasNext()) {
            return Refusal.of(Reason.BAD_REQUEST, "host: more than one (expected: one)");
        }
        if (!Authority.isValid(host)) {
            return Refusal.of(
                    Reason.BAD_REQUEST, abbreviated("host: " + host + " (expected: a host, and perhaps a port)"));
        }
        return null;
    }

    /** What frames the body in a way that the codec takes, and the gateway cannot pass on or others do not know; null: nothing does. */
    private static @Nullable String badFraming(HttpHeaders headers) {
        if (headers.contains(HttpHeaderNames.TRANSFER_ENCODING)) {
            String codings = String.join(", ", headers.getAll(HttpHeaderNames.TRANSFER_ENCODING));
            if (!HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(codings.strip())) {
                // The body would go on without the coding's name.
                return "transfer-encoding: " + codings + " (expected: chunked, and nothing else)";
            }
        }
        // Of a draft of WebSockets: the codec takes the eight bytes behind the head for a body, and nobody else does.
        return headers.contains(HttpHeaderNames.SEC_WEBSOCKET_KEY1)
                        && headers.contains(HttpHeaderNames.SEC_WEBSOCKET_KEY2)
                ? "sec-websocket-key1: a handshake before RFC 6455 (expected: sec-websocket-key)"
                : null;
    }

    @SuppressWarnings("ReferenceEquality")
    private static boolean isSame(HttpVersion one, HttpVersion other) {
        return one == other;
    }

    private Refusal describe(Throwable cause) {
        if (cause instanceof TooLongHttpLineException) {
            return Refusal.of(Reason.URI_TOO_LONG, "request line: longer than " + rules.maxUriLength() + " bytes");
        }
        if (cause instanceof TooLongHttpHeaderException) {
            return Refusal.of(
                    Reason.HEADERS_TOO_LARGE, "header section: larger than " + rules.maxHeaderSize() + " bytes");
        }
        String message = cause.getMessage();
        return Refusal.of(Reason.BAD_REQUEST, message == null ? null : abbreviated(message));
    }

    private static String abbreviated(String text) {
        return text.length() <= DETAIL_MAX_CHARS ? text : text.substring(0, DETAIL_MAX_CHARS) + "…";
    }

    /**
     * Netty's handler for upgrades to HTTP/2 takes every request that wishes for any upgrade: it aggregates it, answers {@code Expect} too early, and refuses a body. So
     * wishes that come to nothing anyway are removed; and after the first request, the handler.
     */
    private void limitUpgrade(ChannelHandlerContext context, HttpRequest request) {
        if (served || outstanding > 0) {
            mayUpgrade = false;
            context.pipeline().remove(HttpServerUpgradeHandler.class);
            return;
        }
        HttpHeaders headers = request.headers();
        if (headers.contains(HttpHeaderNames.UPGRADE)
                && (hasBody(request) || headers.contains(HttpHeaderNames.EXPECT))) {
            headers.remove(HttpHeaderNames.UPGRADE);
        }
    }

    private static boolean hasBody(HttpRequest request) {
        return HttpUtil.isTransferEncodingChunked(request) || HttpUtil.getContentLength(request, 0L) > 0;
    }

    // ---------------------------------------------------------------- answers

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (state == State.LINGERING) {
            ReferenceCountUtil.release(message);
            promise.tryFailure(new ClosedChannelException());
            return;
        }
        if (message instanceof ByteBuf || state == State.UPGRADED) {
            context.write(message, promise);
            return;
        }
        if (message instanceof HttpResponse response && !begin(context, response)) {
            context.write(message, promise);
            return;
        }
        if (message instanceof LastHttpContent) {
            end(context, message, promise);
        } else {
            context.write(message, promise);
        }
    }

    /** An answer begins; false: it is an informational one, and others follow it. */
    private boolean begin(ChannelHandlerContext context, HttpResponse response) {
        HttpResponseStatus status = response.status();
        if (status.codeClass() == HttpStatusClass.INFORMATIONAL) {
            if (status.code() == HttpResponseStatus.SWITCHING_PROTOCOLS.code()) {
                upgraded(context, response);
            }
            return false;
        }
        answering = true;
        closing = !HttpUtil.isKeepAlive(response);
        return true;
    }

    /** Whether the answer that begins now is to be the connection's last. */
    boolean isLastAnswer() {
        return rules.drain().isClosingConnections() || bodyIsTooLargeToDrop() || (lastAsked && outstanding == 1);
    }

    /** Whether so much of the request's body is still to come that the connection will not outlive the answer. */
    private boolean bodyIsTooLargeToDrop() {
        return reading != null && outstanding == 1 && contentLength() - readBytes > EdgeRules.UNREAD_MAX_BYTES;
    }

    private void end(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        answering = false;
        served = true;
        outstanding--;
        context.write(message, closing ? LastAnswer.noting(promise) : promise);
        if (closing) {
            // Reactor Netty closes it once this is flushed.
            state = State.REFUSING;
            refusal = null;
        } else if (state == State.REFUSING) {
            refuseInTurn();
        } else if (outstanding == 0) {
            if (reading != null) {
                unreadBytes = 0;
                connection.expireIn(rules.headNanos());
            } else {
                idle();
            }
        }
    }

    private void upgraded(ChannelHandlerContext context, HttpResponse response) {
        state = State.UPGRADED;
        connection.expireNever();
        framer.giveUp();
        if (response.headers().contains(HttpHeaderNames.UPGRADE, "h2c", true)) {
            upgradedToHttp2 = true;
            connection.expireIn(rules.headNanos());
            // Once the codec is where it belongs.
            context.channel().eventLoop().execute(this::becomeHttp2);
        }
    }

    /** Hands the connection over to the guard of HTTP/2, unless that has happened. */
    void becomeHttp2() {
        ChannelPipeline pipeline = context().pipeline();
        if (context().isRemoved() || pipeline.get(Http2FrameCodec.class) == null) {
            return;
        }
        if (upgradedToHttp2) {
            Http2Guard.install(pipeline, connection);
        } else {
            // The codec stands before this handler, and the bytes are followed.
            Http2Guard.installAfter(context().name(), pipeline, connection);
        }
        pipeline.remove(framer);
        pipeline.remove(LastAnswer.class);
        pipeline.remove(RequestTrailers.class);
        pipeline.remove(this);
    }

    // ---------------------------------------------------------------- refusals

    private void refuse(Refusal bad, @Nullable HttpRequest request) {
        refuseAfter(0, bad, request);
    }

    /** A body that cannot be read to its end: the backend gets no more of it, and the caller no half of an answer. */
    private void malformedBody(Refusal bad) {
        HttpRequest request = reading;
        reading = null;
        ChannelHandlerContext context = context();
        if (outstanding == 0) {
            linger(context);
        } else if (answering && outstanding == 1) {
            connection.refused(bad.reason(), method(request), target(request), 0);
            reset(context);
        } else {
            boolean begun = outstanding == 1;
            refuseAfter(1, bad, request);
            if (begun) {
                // Whoever reads the body, or is going to.
                context.fireExceptionCaught(new DecoderException("the request's body is malformed: " + bad.detail()));
            }
        }
    }

    private void refuseAfter(int left, Refusal bad, @Nullable HttpRequest request) {
        connection.refused(bad.reason(), method(request), target(request), waitedNanos(bad));
        state = State.REFUSING;
        refusal = bad;
        refusalsTurn = left;
        refuseInTurn();
    }

    private void refuseInTurn() {
        Refusal bad = refusal;
        if (bad == null || outstanding > refusalsTurn) {
            return;
        }
        refusal = null;
        ChannelHandlerContext context = context();
        ByteBuf body = Problem.body(bad, context.alloc());
        FullHttpResponse answer =
                new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, bad.reason().status(), body);
        Problem.writeHead(bad, answer.headers());
        answer.headers()
                .setInt(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes())
                .set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
        context.writeAndFlush(answer);
        linger(context);
    }

    private long waitedNanos(Refusal bad) {
        if (bad.reason() != Reason.CLIENT_TOO_SLOW) {
            return 0;
        }
        return served ? rules.headNanos() : connection.now() - connection.openedAt();
    }

    /** Null where the request line was not understood: the decoder makes one up. */
    private static @Nullable String method(@Nullable HttpRequest request) {
        return request == null || request instanceof FullHttpRequest
                ? null
                : request.method().name();
    }

    private static @Nullable String target(@Nullable HttpRequest request) {
        return request == null || request instanceof FullHttpRequest ? null : request.uri();
    }

    // ---------------------------------------------------------------- time

    private void timeHead() {
        timed = true;
        if (served) {
            connection.expireIn(rules.headNanos());
        }
    }

    private void idle() {
        if (framer.isInHead()) {
            timeHead();
        } else {
            connection.expireIn(rules.keepAliveNanos());
        }
    }

    @Override
    public void expired() {
        ChannelHandlerContext context = context();
        switch (state) {
            case OPEN -> {
                if (outstanding > 0) {
                    return;
                }
                if (reading != null) {
                    linger(context);
                } else if (timed) {
                    refuse(Refusal.of(Reason.CLIENT_TOO_SLOW, "the request's head did not arrive in time"), null);
                } else {
                    context.close();
                }
            }
            case LINGERING -> {
                long pending = pendingBytes(context);
                if (flushed || pending == pendingBytes) {
                    context.close();
                } else {
                    pendingBytes = pending;
                    connection.expireIn(EdgeRules.LINGER_NANOS);
                }
            }
            case UPGRADED -> context.close();
            case REFUSING -> {
                // The exchanges whose answers are waited for have deadlines of their own.
            }
        }
    }

    @Override
    public void drain() {
        if (state == State.OPEN && outstanding == 0 && reading == null && served && !framer.isInHead()) {
            context().close();
        }
    }

    // ---------------------------------------------------------------- the end

    /** Whoever closes a connection whose answer is complete, and whose request is not, lets the caller read the answer. */
    @Override
    public void close(ChannelHandlerContext context, ChannelPromise promise) {
        boolean mayLinger =
                switch (state) {
                    case OPEN -> served && outstanding == 0 && reading != null;
                    case REFUSING -> closing && !answering && (outstanding > 0 || reading != null || lastAsked);
                    case LINGERING -> true;
                    case UPGRADED -> false;
                };
        if (!mayLinger || !context.channel().isActive() || isReset(context)) {
            context.close(promise);
            return;
        }
        if (!promise.isVoid()) {
            context.channel().closeFuture().addListener(closed -> promise.trySuccess());
        }
        if (state != State.LINGERING) {
            // The answer may have been written before the end of a request without a body was passed on.
            awaitsEnd = reading != null && outstanding == 0;
            linger(context);
        }
    }

    private void endOfInput(ChannelHandlerContext context) {
        inputEnded = true;
        if (flushed) {
            context.close();
        }
    }

    private static boolean isReset(ChannelHandlerContext context) {
        Integer linger = context.channel().config().getOption(ChannelOption.SO_LINGER);
        return linger != null && linger == 0;
    }

    /**
     * Closes the connection in a way that lets the caller read what was written: flushes it, shuts the output down, and drops what comes, for
     * a while. Closed at once, with something unread, the connection would be reset, and the answer lost with it.
     */
    private void linger(ChannelHandlerContext context) {
        if (state == State.LINGERING || !context.channel().isActive()) {
            return;
        }
        state = State.LINGERING;
        reading = null;
        pendingBytes = pendingBytes(context);
        connection.expireIn(EdgeRules.LINGER_NANOS);
        framer.dropInput();
        framer.flush(flush -> {
            flushed = true;
            if (inputEnded) {
                context.close();
            } else {
                connection.expireIn(EdgeRules.LINGER_NANOS);
                shutdownOutput(context);
            }
        });
    }

    private static long pendingBytes(ChannelHandlerContext context) {
        ChannelOutboundBuffer pending = context.channel().unsafe().outboundBuffer();
        return pending == null ? 0 : pending.totalPendingWriteBytes();
    }

    private static void shutdownOutput(ChannelHandlerContext context) {
        SslHandler tls = context.pipeline().get(SslHandler.class);
        if (tls != null) {
            tls.closeOutbound().addListener(closed -> shutdownSocket(context));
        } else {
            shutdownSocket(context);
        }
    }

    private static void shutdownSocket(ChannelHandlerContext context) {
        if (context.channel() instanceof DuplexChannel socket && socket.isActive()) {
            socket.shutdownOutput();
        }
    }

    private void reset(ChannelHandlerContext context) {
        state = State.LINGERING;
        context.channel().config().setOption(ChannelOption.SO_LINGER, 0);
        context.close();
    }

    /** A refusal that waits for its turn holds the connection up. */
    @Override
    public void read(ChannelHandlerContext context) {
        if (state != State.REFUSING) {
            context.read();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        if (cause instanceof Http2Exception && state == State.OPEN) {
            // HTTP/2 with prior knowledge, but for its first frame.
            becomeHttp2();
            context.fireExceptionCaught(cause);
            return;
        }
        boolean decoding = cause instanceof DecoderException && !(cause.getCause() instanceof SSLException);
        if (!decoding || state == State.UPGRADED) {
            context.fireExceptionCaught(cause);
        } else if (state == State.OPEN) {
            // The codec says so of too many requests at once, and of nothing else.
            refuse(Refusal.of(Reason.BAD_REQUEST, "too many requests wait on this connection"), null);
        }
    }

    private ChannelHandlerContext context() {
        ChannelHandlerContext context = ctx;
        if (context == null) {
            throw new IllegalStateException("guard: not in a pipeline (expected: in the one of its connection)");
        }
        return context;
    }
}
