package io.weir.body;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

class CopiedBodyTest {

    private final List<String> shown = new ArrayList<>();
    private final TestPublisher<Object> source = TestPublisher.create();
    private final CopiedBody body = new CopiedBody(source, new CopiedBody.Listener() {
        @Override
        public void copy(ByteBuf part) {
            shown.add(part.toString(StandardCharsets.UTF_8));
        }

        @Override
        public void complete() {
            shown.add("complete");
        }

        @Override
        public void broken() {
            shown.add("broken");
        }
    });

    @Test
    void showsEachPartAndTheEnd() {
        StepVerifier.create(body, 0)
                .thenRequest(2)
                .then(() -> source.next(part("one")).next(part("two")).complete())
                .expectNextCount(2)
                .verifyComplete();
        assertThat(shown).containsExactly("one", "two", "complete");
    }

    @Test
    void passesDemandUnchanged() {
        StepVerifier.create(body, 0)
                .thenRequest(3)
                .then(() -> source.assertMinRequested(3))
                .thenCancel()
                .verify();
    }

    @Test
    void aFailedBodyIsBroken() {
        StepVerifier.create(body)
                .then(() -> source.next(part("one")).error(new IllegalStateException("lost")))
                .expectNextCount(1)
                .verifyErrorMessage("lost");
        assertThat(shown).containsExactly("one", "broken");
    }

    @Test
    void aCancelledBodyIsNeverComplete() {
        StepVerifier.create(body)
                .then(() -> source.next(part("one")))
                .expectNextCount(1)
                .thenCancel()
                .verify();
        source.complete();
        source.assertCancelled();
        assertThat(shown).containsExactly("one", "broken");
    }

    private static ByteBuf part(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }
}
