package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.ssl.SslClientHelloHandler;
import io.netty.util.concurrent.Future;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/**
 * Ends the TLS handshake of a client that offers only protocols that the gateway does not speak, with the
 * alert {@code no_application_protocol} (RFC 7301, 3.2). A client without ALPN passes.
 *
 * <p>Reactor Netty configures Netty to go on without a protocol, and Spring Boot creates the TLS contexts
 * without a way to change that. Then a client of another protocol talks to an HTTP server, which is the
 * confusion of protocols that ALPN prevents (ALPACA). So this handler reads the handshake's first message
 * ahead of TLS. It passes every byte on unchanged, and removes itself.
 */
// Concurrency: confined to the connection's event loop.
final class AlpnCheck extends SslClientHelloHandler<Boolean> {

    /** Larger messages are no handshakes of clients; the limit of a record is 16 KB. */
    private static final int HELLO_MAX_BYTES = 64 * 1024;

    private static final int VERSION_AND_RANDOM_BYTES = 34;
    private static final int EXTENSION_ALPN = 16;

    /** A record of TLS 1.2 with a fatal alert, 120: {@code no_application_protocol}. */
    private static final byte[] ALERT = {21, 3, 3, 0, 2, 2, 120};

    private final CallerConnection connection;
    private final Set<String> protocols;

    /**
     * A check of one connection.
     *
     * @param protocols the names of the protocols that the gateway speaks
     */
    AlpnCheck(CallerConnection connection, Set<String> protocols) {
        super(HELLO_MAX_BYTES);
        this.connection = connection;
        this.protocols = protocols;
    }

    @Override
    protected Future<Boolean> lookup(ChannelHandlerContext context, @Nullable ByteBuf hello) {
        return context.executor().newSucceededFuture(hello == null || offersKnown(hello, protocols));
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // A failed write or close shows as the channel's close.
    protected void onLookupComplete(ChannelHandlerContext context, Future<Boolean> known) {
        if (!context.channel().isActive()) {
            return;
        }
        if (Boolean.TRUE.equals(known.getNow())) {
            // The removal passes the bytes on.
            context.pipeline().remove(this);
            return;
        }
        connection.reportFailedHandshake(
                new SSLHandshakeException("ALPN: no known protocol (expected: one of " + protocols + ")"));
        context.writeAndFlush(Unpooled.wrappedBuffer(ALERT)).addListener(ChannelFutureListener.CLOSE);
    }

    /**
     * Whether a client offers one of the protocols, or does not use ALPN. A malformed message passes: TLS
     * refuses it.
     *
     * @param hello the message after its type and length
     */
    static boolean offersKnown(ByteBuf hello, Set<String> protocols) {
        try {
            ByteBuf rest = hello.duplicate();
            rest.skipBytes(VERSION_AND_RANDOM_BYTES);
            rest.skipBytes(rest.readUnsignedByte());
            rest.skipBytes(rest.readUnsignedShort());
            rest.skipBytes(rest.readUnsignedByte());
            if (!rest.isReadable()) {
                return true;
            }
            ByteBuf extensions = rest.readSlice(rest.readUnsignedShort());
            while (extensions.isReadable()) {
                int type = extensions.readUnsignedShort();
                ByteBuf content = extensions.readSlice(extensions.readUnsignedShort());
                if (type == EXTENSION_ALPN) {
                    return containsKnown(content.readSlice(content.readUnsignedShort()), protocols);
                }
            }
            return true;
        } catch (IndexOutOfBoundsException e) {
            return true;
        }
    }

    private static boolean containsKnown(ByteBuf names, Set<String> protocols) {
        while (names.isReadable()) {
            int length = names.readUnsignedByte();
            if (protocols.contains(
                    names.readCharSequence(length, StandardCharsets.ISO_8859_1).toString())) {
                return true;
            }
        }
        return false;
    }
}
