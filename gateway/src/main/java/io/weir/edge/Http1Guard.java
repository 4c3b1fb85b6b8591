package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerUpgradeHandler;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Frame;
import io.netty.util.ReferenceCountUtil;
import io.weir.edge.Http1ConnectionState.Phase;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.nio.channels.ClosedChannelException;
import java.util.Objects;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import reactor.netty.NettyPipeline;

/**
 * Enforces the edge's rules on an HTTP/1 connection, between the codec and Reactor Netty. {@link
 * Http1RequestChecks} decides about a request, {@link Http1ConnectionState} about the connection.
 *
 * <p>It is necessary because Reactor Netty answers malformed requests itself, completes a half-written
 * response when the request's body turns out to be malformed, and reads an unwanted body without a bound.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write or close shows as the channel's close.
final class Http1Guard extends ChannelDuplexHandler implements CallerConnection.Guard, Http1Scanner.Listener {

    private final CallerConnection connection;
    private final EdgeRules rules;
    private final Http1Scanner scanner;
    private final Http1Upgrade upgrade;
    private final LingeringClose lingeringClose;
    private final Http1ConnectionState state = new Http1ConnectionState();
    private final Http1Refusals refusals;
    private @Nullable ChannelHandlerContext ctx;
    /** The arriving request is shed: Reactor Netty has not seen it. */
    private boolean isShed;

    private Http1Guard(CallerConnection connection, boolean hasUpgradeHandler) {
        this.connection = connection;
        this.rules = connection.rules();
        this.refusals = new Http1Refusals(connection, state);
        this.scanner = new Http1Scanner(this, state);
        this.upgrade = new Http1Upgrade(connection, hasUpgradeHandler);
        this.lingeringClose = new LingeringClose(connection, state, scanner);
    }

    /** Guards a connection whose pipeline has an HTTP/1 codec. */
    static void install(ChannelPipeline pipeline, CallerConnection connection) {
        String codec = pipeline.context(HttpServerCodec.class).name();
        Http1Guard guard = new Http1Guard(connection, pipeline.get(HttpServerUpgradeHandler.class) != null);
        pipeline.addBefore(codec, null, guard.scanner);
        pipeline.addAfter(codec, null, guard);
        pipeline.addAfter(NettyPipeline.HttpTrafficHandler, null, new LastResponseHandler(guard.rules, guard.state));
        pipeline.addAfter(NettyPipeline.HttpTrafficHandler, null, RequestTrailers.ofConnection());
        connection.setGuard(guard);
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        ctx = context;
    }

    // ---------------------------------------------------------------- requests

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof HttpRequest request) {
            onRequest(context, request);
        } else if (message instanceof HttpContent content) {
            onContent(context, content);
        } else {
            if (message instanceof Http2Frame && state.isOpen()) {
                // HTTP/2 with prior knowledge.
                upgrade.handOver(context, scanner);
            }
            context.fireChannelRead(message);
        }
    }

    private void onRequest(ChannelHandlerContext context, HttpRequest request) {
        if (!state.isOpen() || state.isBehindLastRequest()) {
            ReferenceCountUtil.release(request);
            return;
        }
        Refusal bad = Http1RequestChecks.check(request, rules);
        if (bad != null) {
            ReferenceCountUtil.release(request);
            if (context.channel().isActive()) {
                refuse(bad, request, 0);
            }
            return;
        }
        if (state.openRequests() == 0) {
            // A request behind others keeps its place: it is passed on.
            Refusal overloaded = rules.shedding().refusal(context.channel(), request.headers());
            if (overloaded != null) {
                shed(context, request, overloaded);
                return;
            }
        }
        upgrade.restrict(context, request, state.awaitsFirstRequest());
        if (state.openRequests() > 0 && !HttpUtil.isKeepAlive(request)) {
            state.closeRequested();
            LastResponseHandler.hideClose(request.headers());
        }
        connection.cancelTimeout();
        state.requestArrived(request);
        context.fireChannelRead(request.setUri(TargetEncoder.encode(request.uri())));
    }

    private void onContent(ChannelHandlerContext context, HttpContent content) {
        boolean isLast = content instanceof LastHttpContent;
        if (state.phase() == Phase.UPGRADED) {
            context.fireChannelRead(content);
        } else if (!state.isOpen()) {
            content.release();
            if (isLast && state.phase() == Phase.LINGERING) {
                lingeringClose.onRequestEnd(context);
            }
        } else if (state.isBehindLastRequest()) {
            content.release();
        } else {
            Refusal bad = Http1RequestChecks.check(content, rules);
            if (bad == null) {
                onBody(context, content, isLast);
            } else {
                content.release();
                onMalformedBody(bad);
            }
        }
    }

    private void onBody(ChannelHandlerContext context, HttpContent content, boolean isLast) {
        int bytes = content.content().readableBytes();
        state.bodyArrived(bytes, isLast);
        if (state.openRequests() > 0) {
            context.fireChannelRead(content);
            return;
        }
        // The response is complete already. Reactor Netty drops this content, and reads on.
        boolean exceedsLimit = state.exceedsUnreadLimit(bytes);
        if (isShed) {
            content.release();
            // Reactor Netty reads on after its own responses only.
            context.read();
        } else {
            context.fireChannelRead(content);
        }
        if (isLast) {
            isShed = false;
            awaitNextRequest();
        } else if (exceedsLimit) {
            lingeringClose.start(context, false);
        }
    }

    // ---------------------------------------------------------------- responses

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (state.phase() == Phase.LINGERING) {
            ReferenceCountUtil.release(message);
            promise.tryFailure(new ClosedChannelException());
        } else if (message instanceof ByteBuf || state.phase() == Phase.UPGRADED) {
            context.write(message, promise);
        } else if (message instanceof HttpResponse response
                && response.status().codeClass() == HttpStatusClass.INFORMATIONAL) {
            if (response.status().code() == HttpResponseStatus.SWITCHING_PROTOCOLS.code()) {
                onSwitchingProtocols(context, response);
            }
            context.write(message, promise);
        } else {
            if (message instanceof HttpResponse response) {
                state.responseBegins(response);
                DateField.SYSTEM.addIfMissing(response.headers());
            }
            if (message instanceof LastHttpContent) {
                writeEnd(context, message, promise);
            } else {
                context.write(message, promise);
            }
        }
    }

    private void writeEnd(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        connection.requestEnds();
        boolean isLast = state.responseEnds();
        context.write(message, isLast ? LastResponseHandler.noteFlush(promise) : promise);
        if (isLast) {
            // Reactor Netty closes the connection after the flush.
            state.lastResponseWritten();
        } else if (state.phase() == Phase.REFUSING) {
            writeRefusalIfDue();
        } else if (state.isOpen() && state.openRequests() == 0) {
            if (state.isReadingBody()) {
                state.startCountingUnreadBytes();
                connection.setTimeout(rules.headTimeoutNanos());
            } else {
                awaitNextRequest();
            }
        }
    }

    private void onSwitchingProtocols(ChannelHandlerContext context, HttpResponse response) {
        state.enter(Phase.UPGRADED);
        connection.cancelTimeout();
        scanner.stop();
        upgrade.switchingProtocols(response);
        if (upgrade.isH2c()) {
            connection.setTimeout(rules.headTimeoutNanos());
            // Runs after Netty has put the HTTP/2 codec into the pipeline.
            context.channel().eventLoop().execute(this::completeUpgrade);
        }
    }

    @Override
    public void completeUpgrade() {
        if (upgrade.isH2c()) {
            upgrade.handOver(context(), scanner);
        }
    }

    // ---------------------------------------------------------------- refusals

    @Override
    public void onMalformedBytes(String detail) {
        if (state.isOpen()) {
            Refusal bad = Refusal.of(Reason.BAD_REQUEST, detail);
            if (state.isReadingBody()) {
                onMalformedBody(bad);
            } else {
                refuse(bad, null, 0);
            }
        }
    }

    /**
     * Ends a request whose body has no recognisable end: the backend gets no more of the body, and the caller
     * gets no incomplete response.
     */
    private void onMalformedBody(Refusal bad) {
        HttpRequest request = state.arrivingRequest();
        state.abandonBody();
        ChannelHandlerContext context = context();
        if (state.openRequests() == 0) {
            lingeringClose.start(context, false);
        } else if (state.isWritingResponse() && state.openRequests() == 1) {
            // A part of an answer is sent already, so no other answer can follow.
            refusals.reportUnanswered(bad, request);
            state.enter(Phase.LINGERING);
            LingeringClose.reset(context);
        } else {
            boolean isBeingServed = state.openRequests() == 1;
            refuse(bad, request, 1);
            if (isBeingServed) {
                // Ends the subscription to the body, now or when there is one.
                context.fireExceptionCaught(new DecoderException("the request's body is malformed: " + bad.detail()));
            }
        }
    }

    /** Refuses a request; {@code turn} is the number of open requests at which the refusal is written. */
    private void refuse(Refusal bad, @Nullable HttpRequest request, int turn) {
        refusals.refuse(bad, request, turn);
        writeRefusalIfDue();
    }

    /**
     * Refuses a well-formed request before Reactor Netty sees it. The connection stays open, so that the
     * caller's next request costs no connect.
     */
    private void shed(ChannelHandlerContext context, HttpRequest request, Refusal overloaded) {
        if (!refusals.canStayOpen(request)) {
            refuse(overloaded, request, 0);
            ReferenceCountUtil.release(request);
            return;
        }
        FullHttpResponse response = refusals.shed(overloaded, request, context.alloc());
        connection.cancelTimeout();
        isShed = true;
        state.requestArrived(request);
        write(context, response, context.newPromise());
        context.flush();
        context.read();
    }

    private void writeRefusalIfDue() {
        if (refusals.writeIfDue(context())) {
            lingeringClose.start(context(), false);
        }
    }

    // ---------------------------------------------------------------- time

    @Override
    public void onBytesDecoded() {
        if (state.isOpen() && state.openRequests() == 0 && !state.isHeadTimed() && scanner.isInHead()) {
            timeHead();
        }
    }

    /** Starts the timeout of a request head; that of the first head runs since the accept. */
    private void timeHead() {
        state.headTimed();
        if (state.hasServed()) {
            connection.setTimeout(rules.headTimeoutNanos());
        }
    }

    private void awaitNextRequest() {
        if (scanner.isInHead()) {
            timeHead();
        } else {
            connection.setTimeout(rules.keepAliveTimeoutNanos());
        }
    }

    @Override
    public void onTimeout() {
        ChannelHandlerContext context = context();
        switch (state.phase()) {
            case OPEN -> {
                if (state.openRequests() > 0) {
                    return;
                }
                if (state.isReadingBody()) {
                    lingeringClose.start(context, false);
                } else if (state.isHeadTimed()) {
                    refuse(Refusal.of(Reason.CLIENT_TOO_SLOW, "the request's head did not arrive in time"), null, 0);
                } else {
                    context.close();
                }
            }
            case LINGERING -> lingeringClose.onTimeout(context);
            case UPGRADED -> context.close();
            case REFUSING, CLOSING -> {
                // The exchanges of the earlier requests have deadlines of their own.
            }
        }
    }

    @Override
    public void drain() {
        if (state.isIdle() && !scanner.isInHead()) {
            context().close();
        }
    }

    // ---------------------------------------------------------------- close

    @Override
    public void close(ChannelHandlerContext context, ChannelPromise promise) {
        lingeringClose.close(context, promise);
    }

    /** Stops reading while a refusal waits for its turn. */
    @Override
    public void read(ChannelHandlerContext context) {
        if (state.phase() != Phase.REFUSING && state.phase() != Phase.CLOSING) {
            context.read();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        if (cause instanceof Http2Exception && state.isOpen()) {
            // HTTP/2 with prior knowledge, whose first frame is invalid.
            upgrade.handOver(context, scanner);
            context.fireExceptionCaught(cause);
            return;
        }
        boolean isTls = cause.getCause() instanceof SSLException;
        if (!(cause instanceof DecoderException) || isTls || state.phase() == Phase.UPGRADED) {
            context.fireExceptionCaught(cause);
        } else if (state.isOpen()) {
            // The codec throws this for too many pipelined requests only.
            refuse(Refusal.of(Reason.BAD_REQUEST, "too many requests wait on this connection"), null, 0);
        }
    }

    private ChannelHandlerContext context() {
        return Objects.requireNonNull(ctx, "guard: not in a pipeline");
    }
}
