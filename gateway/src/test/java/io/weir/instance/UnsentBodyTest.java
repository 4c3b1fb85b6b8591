package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.ReferenceCountUtil;
import io.weir.testing.Leaks;
import java.nio.channels.ClosedChannelException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(Leaks.class)
@SuppressWarnings("FutureReturnValueIgnored") // The channel writes into memory.
class UnsentBodyTest {

    /** The failure of all writes from now on; null: they succeed. */
    private @Nullable Throwable failure;

    private int writes;

    private final EmbeddedChannel stream = new EmbeddedChannel(
            new ChannelOutboundHandlerAdapter() {
                @Override
                public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
                    writes++;
                    ReferenceCountUtil.release(message);
                    Throwable cause = failure;
                    if (cause == null) {
                        promise.setSuccess();
                    } else {
                        promise.setFailure(cause);
                    }
                }
            },
            new UnsentBody());

    private static HttpRequest request(HttpMethod method) {
        return new DefaultHttpRequest(HttpVersion.HTTP_1_1, method, "/");
    }

    private static ByteBuf part() {
        return Unpooled.buffer().writeZero(10);
    }

    @Test
    void writesABodyThatItsBackendTakes() {
        assertThat(stream.writeOneOutbound(request(HttpMethod.POST)).isSuccess())
                .isTrue();
        assertThat(stream.writeOneOutbound(part()).isSuccess()).isTrue();
        assertThat(writes).isEqualTo(2);
        stream.finishAndReleaseAll();
    }

    @Test
    void dropsTheRestOfABodyThatCannotBeWritten() {
        stream.writeOneOutbound(request(HttpMethod.POST));
        failure = new ClosedChannelException();
        assertThat(stream.writeOneOutbound(part()).isSuccess()).isTrue();
        failure = null;
        ByteBuf rest = part();

        assertThat(stream.writeOneOutbound(rest).isSuccess()).isTrue();

        assertThat(rest.refCnt()).isZero();
        assertThat(writes).isEqualTo(2);
        assertThat(stream.isOpen()).isTrue();
        stream.finishAndReleaseAll();
    }

    @Test
    void reportsAHeadThatCannotBeWritten() {
        failure = new ClosedChannelException();

        assertThat(stream.writeOneOutbound(request(HttpMethod.POST)).cause()).isSameAs(failure);
        stream.finishAndReleaseAll();
    }

    @Test
    void reportsAFailureInATunnel() {
        stream.writeOneOutbound(request(HttpMethod.CONNECT));
        failure = new ClosedChannelException();

        assertThat(stream.writeOneOutbound(part()).cause()).isSameAs(failure);
        stream.finishAndReleaseAll();
    }

    @Test
    void closesAStreamWhoseBodyCannotBeEncoded() {
        stream.writeOneOutbound(request(HttpMethod.POST));
        failure = new IllegalStateException("unreadable");

        ChannelFuture written = stream.writeOneOutbound(part());

        assertThat(written.cause()).isSameAs(failure);
        assertThat(stream.isOpen()).isFalse();
    }
}
