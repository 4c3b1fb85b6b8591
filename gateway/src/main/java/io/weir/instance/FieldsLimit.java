package io.weir.instance;

import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.TooLongFrameException;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.Iterator;
import java.util.Map;

/**
 * Fails an answer over HTTP/2 whose head or trailers are larger than an answer over HTTP/1.1 may have, and
 * resets its stream.
 *
 * <p>Netty's codec has such a limit, too: a head beyond it fails its stream, and one that is larger by a
 * quarter ends the connection with all other calls. So the codec's limit ({@link #DECODED_BYTES}) is far
 * above this one.
 *
 * <p>Without state, so one instance serves all streams.
 */
@Sharable
@SuppressWarnings("FutureReturnValueIgnored") // A stream that is being closed needs no result.
final class FieldsLimit extends ChannelInboundHandlerAdapter {

    static final FieldsLimit INSTANCE = new FieldsLimit();

    /** The largest head, and the largest trailers, of an answer over either protocol. */
    static final int MAX_BYTES = 64 * 1024;

    /**
     * The largest header list that the codec decodes, in HTTP/2's measure with 32 bytes more for each field.
     * It is above each head of {@link #MAX_BYTES}, however small the fields are.
     */
    static final long DECODED_BYTES = 1 << 20;

    /** A colon, a blank, and the end of the line, as over HTTP/1.1. */
    private static final int BYTES_PER_FIELD = 4;

    private FieldsLimit() {}

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
        if (message instanceof HttpResponse answer && isTooLarge(answer.headers())) {
            fail(context, message, "head");
        } else if (message instanceof LastHttpContent last && isTooLarge(last.trailingHeaders())) {
            fail(context, message, "trailers");
        } else {
            super.channelRead(context, message);
        }
    }

    private void fail(ChannelHandlerContext context, Object message, String part) {
        ReferenceCountUtil.release(message);
        context.fireExceptionCaught(new TooLongFrameException(
                "the answer's " + part + ": larger than " + MAX_BYTES + " bytes (expected: at most as many)"));
        context.close();
    }

    private static boolean isTooLarge(HttpHeaders fields) {
        long bytes = 0;
        Iterator<Map.Entry<CharSequence, CharSequence>> each = fields.iteratorCharSequence();
        while (each.hasNext()) {
            Map.Entry<CharSequence, CharSequence> field = each.next();
            bytes += field.getKey().length() + field.getValue().length() + BYTES_PER_FIELD;
        }
        return bytes > MAX_BYTES;
    }
}
