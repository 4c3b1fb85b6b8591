package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.weir.outcome.Reason;
import io.weir.outcome.ThrottledLog;
import org.jspecify.annotations.Nullable;

/**
 * Reads the PROXY protocol's header of a trusted proxy in front of TLS and HTTP, and then removes itself. The
 * address in the header becomes the connection's: see {@link CallerConnection#identify}.
 *
 * <p>Until the header is complete, it is the connection's guard: the time-out of the first head includes the
 * header. A malformed header closes the connection without an answer, because the peer does not speak HTTP.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed close shows as the channel's close.
final class ProxyHeaderHandler extends ChannelInboundHandlerAdapter implements CallerConnection.Guard {

    private static final ThrottledLog log = ThrottledLog.of(ProxyHeaderHandler.class);

    private final CallerConnection connection;
    private final boolean isRequired;
    /** The guard of the connection's protocol; null until TLS has negotiated it. */
    private final CallerConnection.@Nullable Guard next;

    private final ProxyHeader header = new ProxyHeader();
    private boolean isDone;

    private ProxyHeaderHandler(CallerConnection connection, boolean isRequired) {
        this.connection = connection;
        this.isRequired = isRequired;
        this.next = connection.guard();
    }

    /** Expects a header on a connection whose pipeline is complete. */
    static void install(ChannelPipeline pipeline, CallerConnection connection, boolean isRequired) {
        ProxyHeaderHandler handler = new ProxyHeaderHandler(connection, isRequired);
        pipeline.addFirst(handler);
        connection.setGuard(handler);
    }

    /** Closes a connection whose peer may not connect without a trusted proxy. */
    static void refuseOtherPeer(CallerConnection connection) {
        refuse(connection, "it is not of weir.edge.trusted-proxies (expected by weir.edge.proxy-protocol: required)");
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (isDone || !(message instanceof ByteBuf in)) {
            context.fireChannelRead(message);
            return;
        }
        switch (header.read(in)) {
            case INCOMPLETE -> in.release();
            case COMPLETE -> {
                isDone = true;
                if (connection.identify(header.source())) {
                    passOn(context, in);
                } else {
                    in.release();
                    connection.close();
                }
            }
            case ABSENT -> {
                isDone = true;
                if (isRequired) {
                    in.release();
                    refuse(connection, "it begins with no PROXY header (expected: one)");
                } else {
                    passOn(context, Unpooled.wrappedBuffer(Unpooled.wrappedBuffer(header.taken()), in));
                }
            }
            case MALFORMED -> {
                isDone = true;
                in.release();
                refuse(connection, "its PROXY header is malformed: " + header.problem());
            }
        }
    }

    private void passOn(ChannelHandlerContext context, ByteBuf rest) {
        connection.setGuard(next);
        if (rest.isReadable()) {
            context.fireChannelRead(rest);
        } else {
            rest.release();
            context.read();
        }
        context.pipeline().remove(this);
    }

    /** Reads on, if nothing reads automatically: the handlers behind this one have seen no bytes. */
    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        if (isDone) {
            context.fireChannelReadComplete();
        } else {
            context.read();
        }
    }

    private static void refuse(CallerConnection connection, String why) {
        log.warn(connection.nowNanos(), () -> "Connection of " + connection.remote() + " closed: " + why);
        connection.reportRefusal(Reason.BAD_REQUEST, "", null, null, 0, 0);
        connection.close();
    }

    @Override
    public void onTimeout() {
        if (header.hasBegun()) {
            connection.reportRefusal(
                    Reason.CLIENT_TOO_SLOW, "", null, null, connection.nowNanos() - connection.openedAtNanos(), 0);
        }
        connection.close();
    }

    @Override
    public void drain() {
        if (!header.hasBegun()) {
            connection.close();
        }
    }
}
