package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.TooLongFrameException;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.weir.testing.Leaks;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(Leaks.class)
class FieldsLimitTest {

    private final EmbeddedChannel stream = new EmbeddedChannel(FieldsLimit.INSTANCE);

    /** An answer whose field section has exactly this many bytes. */
    private static HttpResponse head(int bytes) {
        HttpResponse answer = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
        answer.headers().set("name", "x".repeat(bytes - "name: \r\n".length()));
        return answer;
    }

    private static LastHttpContent end(int bytes) {
        LastHttpContent last = new DefaultLastHttpContent();
        last.trailingHeaders().set("name", "x".repeat(bytes - "name: \r\n".length()));
        return last;
    }

    @Test
    void passesOnFieldsUpToTheLimit() {
        HttpResponse head = head(FieldsLimit.MAX_BYTES);
        LastHttpContent end = end(FieldsLimit.MAX_BYTES);
        stream.writeInbound(head, end);

        assertThat(stream.inboundMessages()).containsExactly(head, end);
        assertThat(stream.isOpen()).isTrue();
        stream.finishAndReleaseAll();
    }

    @Test
    void failsALargerHead() {
        assertThatThrownBy(() -> stream.writeInbound(head(FieldsLimit.MAX_BYTES + 1)))
                .isInstanceOf(TooLongFrameException.class);
        assertThat(stream.isOpen()).isFalse();
        assertThat(stream.inboundMessages()).isEmpty();
    }

    @Test
    void countsAllFields() {
        HttpResponse head = head(1000);
        for (int i = 0; i < 70; i++) {
            head.headers().add("name", "x".repeat(1000));
        }
        assertThatThrownBy(() -> stream.writeInbound(head)).isInstanceOf(TooLongFrameException.class);
    }

    @Test
    void failsLargerTrailers() {
        stream.writeInbound(head(100));

        assertThatThrownBy(() -> stream.writeInbound(end(FieldsLimit.MAX_BYTES + 1)))
                .isInstanceOf(TooLongFrameException.class);
        assertThat(stream.isOpen()).isFalse();
        assertThat(stream.inboundMessages()).hasSize(1);
        stream.finishAndReleaseAll();
    }
}
