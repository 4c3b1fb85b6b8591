package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2FrameStream;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.ReferenceCountUtil;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class Http2RefusalTest {

    private static final Refusal BAD = Refusal.of(Reason.BAD_REQUEST, "the path has a space");

    private final EmbeddedChannel channel = new EmbeddedChannel(new ChannelInboundHandlerAdapter());

    private static final class Stream implements Http2FrameStream {
        @Override
        public int id() {
            return 1;
        }

        @Override
        public Http2Stream.State state() {
            return Http2Stream.State.OPEN;
        }
    }

    @AfterEach
    void finish() {
        channel.finishAndReleaseAll();
    }

    private Http2HeadersFrame head(Http2Headers request) {
        ChannelFuture written =
                Http2Refusal.of(request, BAD).write(channel.pipeline().firstContext(), new Stream());
        channel.flush();
        assertThat(written.isSuccess()).isTrue();
        return channel.readOutbound();
    }

    @Test
    void hasAProblemAsBody() {
        Http2HeadersFrame head = head(new DefaultHttp2Headers().method("GET").set("x-request-id", "id-1"));

        Http2DataFrame body = channel.readOutbound();
        assertThat(head.headers().status()).hasToString("400");
        assertThat(head.headers().get("x-request-id")).hasToString("id-1");
        assertThat(head.headers().getInt("content-length"))
                .isEqualTo(body.content().readableBytes());
        assertThat(head.isEndStream()).isFalse();
        assertThat(body.isEndStream()).isTrue();
        ReferenceCountUtil.release(body);
    }

    @Test
    void hasTheLengthButNoBodyForHead() {
        Http2HeadersFrame head = head(new DefaultHttp2Headers().method("HEAD"));

        assertThat(head.headers().getInt("content-length")).isPositive();
        assertThat(head.isEndStream()).isTrue();
        assertThat(channel.<Object>readOutbound()).isNull();
    }

    @Test
    void isAStatusOfGrpcForGrpc() {
        Http2HeadersFrame head = head(new DefaultHttp2Headers().method("POST").set("content-type", "application/grpc"));

        assertThat(head.headers().status()).hasToString("200");
        assertThat(head.headers().get("grpc-status")).isNotNull();
        assertThat(head.isEndStream()).isTrue();
        assertThat(channel.<Object>readOutbound()).isNull();
    }
}
