package io.weir.body;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpContent;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Flux;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

class TruncatedBodyTest {

    private final TestPublisher<Object> source = TestPublisher.create();
    private final List<ByteBuf> lent = new ArrayList<>();

    private void sends(String part) {
        ByteBuf buffer = Unpooled.copiedBuffer(part, StandardCharsets.UTF_8);
        lent.add(buffer);
        source.next(lent.size() % 2 == 0 ? new DefaultHttpContent(buffer) : buffer);
        buffer.release();
    }

    /** Takes its buffers over, as the reader of a body does. */
    private Flux<String> cutAfter(long bytes) {
        return new TruncatedBody(source.flux(), bytes, "cut").map(item -> {
            ByteBuf buffer = item instanceof DefaultHttpContent content ? content.content() : (ByteBuf) item;
            ByteBuf mine = buffer.retain();
            try {
                return mine.toString(StandardCharsets.UTF_8);
            } finally {
                mine.release();
            }
        });
    }

    @ParameterizedTest
    @CsvSource({"7, 'abc,def,g'", "6, 'abc,def'", "4, 'abc,d'", "3, abc", "1, a"})
    void passesTheFirstBytesAndBreaksOff(long bytes, String passed) {
        List<String> parts = new ArrayList<>();
        StepVerifier.create(cutAfter(bytes).doOnNext(parts::add))
                .then(() -> {
                    sends("abc");
                    sends("def");
                    sends("ghi");
                    sends("late");
                })
                .expectNextCount(passed.split(",", -1).length)
                .verifyErrorSatisfies(failure ->
                        assertThat(failure).isInstanceOf(IOException.class).hasMessage("cut"));

        assertThat(String.join(",", parts)).isEqualTo(passed);
        assertThat(source.wasCancelled()).as("the connection closes").isTrue();
        assertThat(lent).allMatch(buffer -> buffer.refCnt() == 0);
    }

    @Test
    void breaksOffBeforeTheFirstByte() {
        StepVerifier.create(cutAfter(0)).then(() -> sends("abc")).verifyErrorMessage("cut");
        assertThat(lent).allMatch(buffer -> buffer.refCnt() == 0);
    }

    @Test
    void leavesABodyThatIsNotLongerComplete() {
        StepVerifier.create(cutAfter(6))
                .then(() -> {
                    sends("abc");
                    sends("def");
                    source.complete();
                })
                .expectNext("abc", "def")
                .verifyComplete();
        assertThat(source.wasCancelled()).isFalse();
    }

    @Test
    void passesAFailureOfTheBackendOn() {
        StepVerifier.create(cutAfter(6))
                .then(() -> {
                    sends("abc");
                    source.error(new IOException("reset"));
                })
                .expectNext("abc")
                .verifyErrorMessage("reset");
    }
}
