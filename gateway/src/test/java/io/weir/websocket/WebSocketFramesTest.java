package io.weir.websocket;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.test.publisher.TestPublisher;

class WebSocketFramesTest {

    private final List<String> seen = new ArrayList<>();
    private final List<String> passed = new ArrayList<>();
    private final TestPublisher<WebSocketFrame> source = TestPublisher.create();

    /** Subscribes to its source only when it is told to, as on another event loop. */
    private final List<Runnable> laterOnTheSourcesLoop = new ArrayList<>();

    private final WebSocketFrames frames = new WebSocketFrames(
            subscriber -> laterOnTheSourcesLoop.add(() -> source.subscribe(subscriber)),
            new TunnelGate(new EmbeddedChannel(), new EmbeddedChannel()),
            frame -> seen.add(frame.content().toString(StandardCharsets.UTF_8)));

    private final BaseSubscriber<WebSocketFrame> writer = new BaseSubscriber<>() {
        @Override
        protected void hookOnSubscribe(Subscription subscription) {
            passed.add("subscribed");
            request(1);
        }

        @Override
        protected void hookOnNext(WebSocketFrame frame) {
            passed.add("frame");
            frame.release();
        }

        @Override
        protected void hookOnComplete() {
            passed.add("complete");
        }
    };

    /** A writer whose channel closes before it has a subscription loses its end. */
    @Test
    void subscribesTheWriterBeforeTheSource() {
        frames.subscribe(writer);
        assertThat(passed).containsExactly("subscribed");
    }

    @Test
    void passesTheDemandOnOnceTheSourceIsSubscribed() {
        frames.subscribe(writer);
        laterOnTheSourcesLoop.forEach(Runnable::run);
        source.assertMinRequested(1);
        source.next(new TextWebSocketFrame("a")).complete();
        assertThat(seen).containsExactly("a");
        assertThat(passed).containsExactly("subscribed", "frame", "complete");
    }

    @Test
    void readsAndDropsFramesIfTheWriterHasEndedBeforeTheSourceIsSubscribed() {
        frames.subscribe(writer);
        writer.cancel();
        laterOnTheSourcesLoop.forEach(Runnable::run);
        source.assertMinRequested(Long.MAX_VALUE).assertNotCancelled();
        source.next(new TextWebSocketFrame("a")).complete();
        assertThat(seen).isEmpty();
        assertThat(passed).containsExactly("subscribed");
    }
}
