package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import io.weir.outcome.Problem;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Drops informational answers, except 101, which is final. Reactor Netty would mistake them for the final
 * answer: a 100 in a WebSocket handshake, the others in any request. One instance per connection, or per
 * stream over HTTP/2.
 *
 * <p>The {@code Link} fields of a 103 (early hints, RFC 8297) go to the listener of the request, if it has
 * one. Its other fields are in the final answer, too.
 *
 * <p>It also gives a gRPC answer that ends with its head ("trailers-only") a length of 0, so that it reaches
 * the caller as a head that ends its stream. Reactor Netty does not distinguish such a head from one whose
 * body turns out to be empty, but gRPC's callers do: they look for the status in a head only if it ends the
 * stream.
 */
public final class InformationalFilter extends ChannelInboundHandlerAdapter {

    /** The hints of one answer that are passed on: a backend may send any number of them. */
    static final int MAX_HINTS = 8;

    private boolean isDropping;
    private @Nullable Consumer<List<String>> hints;
    private int hintsLeft;

    InformationalFilter() {}

    /**
     * Listens for the early hints of the answer to the request that is about to be written, until the final
     * answer's head. On the connection's event loop, on which the listener is called.
     *
     * @param listener gets the {@code Link} fields of each of the first {@value #MAX_HINTS} 103 that have any
     */
    public static void listen(Channel connection, Consumer<List<String>> listener) {
        InformationalFilter filter = (InformationalFilter) connection.pipeline().get(Pool.INFORMATIONAL_FILTER);
        if (filter != null) {
            filter.hints = listener;
            filter.hintsLeft = MAX_HINTS;
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof HttpResponse response) {
            HttpResponseStatus status = response.status();
            isDropping = status.codeClass() == HttpStatusClass.INFORMATIONAL
                    && status.code() != HttpResponseStatus.SWITCHING_PROTOCOLS.code();
            if (hints != null) {
                report(response);
            }
        }
        if (!isDropping) {
            if (message instanceof FullHttpResponse whole
                    && !whole.content().isReadable()
                    && Problem.isGrpc(whole.headers())) {
                whole.headers().set(HttpHeaderNames.CONTENT_LENGTH, HttpHeaderValues.ZERO);
            }
            ctx.fireChannelRead(message);
            return;
        }
        if (message instanceof LastHttpContent) {
            isDropping = false;
        }
        ReferenceCountUtil.release(message);
        // Until the answer's body is requested, the connection is read one message at a time.
        ctx.read();
    }

    private void report(HttpResponse response) {
        Consumer<List<String>> listener = hints;
        if (!isDropping) {
            hints = null;
        } else if (listener != null && response.status().code() == HttpResponseStatus.EARLY_HINTS.code()) {
            List<String> links = response.headers().getAll("link");
            if (!links.isEmpty() && hintsLeft-- > 0) {
                listener.accept(links);
            }
        }
    }
}
