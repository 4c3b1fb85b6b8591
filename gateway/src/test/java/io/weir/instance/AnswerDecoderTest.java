package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.netty.NettyPipeline;

/** When the end of an answer is passed on; {@code AnswerBoundaryIT} has the violations over sockets. */
class AnswerDecoderTest {

    private static final String ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";

    private final EmbeddedChannel connection = new EmbeddedChannel();
    private final Violations violations = new Violations("orders");

    @BeforeEach
    void ask() {
        connection.pipeline().addLast(NettyPipeline.HttpCodec, new HttpClientCodec());
        // As Reactor Netty reads an answer. With it, the channel would run its tasks at each end of a read.
        connection.config().setAutoRead(false);
        AnswerDecoder.install(connection, new HttpDecoderConfig(), violations);
        connection.writeOutbound(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/"));
    }

    @AfterEach
    void release() {
        connection.finishAndReleaseAll();
    }

    /** @param isFull whether the read has filled its buffer, so that the socket may have more */
    private void read(String text, boolean isFull) {
        byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
        ByteBuf buffer = Unpooled.buffer(bytes.length + (isFull ? 0 : 1)).writeBytes(bytes);
        connection.pipeline().fireChannelRead(buffer);
    }

    private boolean hasEnded() {
        return connection.inboundMessages().stream().anyMatch(LastHttpContent.class::isInstance);
    }

    @Test
    void passesTheEndOnAfterTheReads() {
        read(ANSWER, false);
        assertThat(hasEnded()).isFalse();

        connection.pipeline().fireChannelReadComplete();

        assertThat(hasEnded()).isTrue();
        assertThat(connection.isOpen()).isTrue();
    }

    @Test
    void looksForMoreIfAReadHasFilledItsBuffer() {
        read(ANSWER, true);
        connection.pipeline().fireChannelReadComplete();
        assertThat(hasEnded()).isFalse();

        read(ANSWER, false);
        connection.pipeline().fireChannelReadComplete();

        assertThat(hasEnded()).isTrue();
        assertThat(violations.count(Violations.Kind.BYTES_AFTER_ANSWER)).isEqualTo(1);
        assertThat(connection.isOpen()).isFalse();
    }

    @Test
    void passesTheEndOnIfThereIsNoMore() {
        read(ANSWER, true);
        connection.pipeline().fireChannelReadComplete();

        connection.runPendingTasks();

        assertThat(hasEnded()).isTrue();
        assertThat(connection.isOpen()).isTrue();
        assertThat(violations.count(Violations.Kind.BYTES_AFTER_ANSWER)).isZero();
    }

    /**
     * A field's value with a line feed, such as a text of a caller, must not become two fields.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc",
                "HTTP/1.1 200 OK\r\nLocation: /a\nSet-Cookie: a=b\r\nContent-Length: 3\r\n\r\nabc",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n"
            })
    void refusesLinesThatEndWithALineFeedOnly(String answer) {
        read(answer, false);
        connection.pipeline().fireChannelReadComplete();

        assertThat(connection.inboundMessages())
                .anyMatch(message -> message instanceof HttpObject part
                        && part.decoderResult().isFailure());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Transfer-Encoding: gzip\r\n",
                "Transfer-Encoding: gzip, chunked\r\n",
                "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
                "Transfer-Encoding: x\r\nContent-Length: 3\r\n"
            })
    void failsAnAnswerWhoseCodingTheCallerWouldNotLearn(String fields) {
        read("HTTP/1.1 200 OK\r\n" + fields + "\r\n3\r\nabc\r\n0\r\n\r\n", false);
        connection.pipeline().fireChannelReadComplete();

        HttpObject answer = connection.readInbound();
        assertThat(answer.decoderResult().cause()).hasMessageContaining("(expected: chunked, and nothing else)");
        assertThat(connection.<Object>readInbound()).isNull();
    }

    @Test
    void decodesChunks() {
        read("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked \r\n\r\n3\r\nabc\r\n0\r\n\r\n", false);
        connection.pipeline().fireChannelReadComplete();

        HttpObject answer = connection.readInbound();
        assertThat(answer.decoderResult().isSuccess()).isTrue();
        assertThat(hasEnded()).isTrue();
    }
}
