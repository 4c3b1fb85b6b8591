package io.weir.instance;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.Channel;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2FlowController;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.weir.testing.TestServer;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import reactor.netty.resources.LoopResources;

/** The calls of one HTTP/2 connection of a pool. */
class Http2PoolTest {

    private static final int PART_BYTES = 16_000;
    /** More than the client reads ahead, and than the windows of a stream and of a connection. */
    private static final int PARTS = 500;

    private static final int CALLS = 100;

    private final LoopResources loops = LoopResources.create("http2-pool", 1, true);
    private final List<Http2StreamChannel> streams = new CopyOnWriteArrayList<>();
    private final TestServer server =
            TestServer.start(HttpServer.create().protocol(HttpProtocol.H2C).handle(this::handle));
    private final Pool pool = new Pool(
            "orders",
            URI.create("http://127.0.0.1:" + server.port()),
            UpstreamProtocol.H2,
            new Binder(new MapConfigurationPropertySource(Map.of())).bindOrCreate("", ConnectionProperties.class),
            10,
            null,
            loops);

    private Publisher<Void> handle(HttpServerRequest request, HttpServerResponse response) {
        request.withConnection(connection -> streams.add((Http2StreamChannel) connection.channel()));
        return request.uri().endsWith("large")
                ? response.sendByteArray(Flux.range(0, PARTS).map(part -> new byte[PART_BYTES]))
                : response.sendString(Mono.just("small"));
    }

    @AfterEach
    void close() {
        pool.close().block(PATIENCE);
        server.close();
        loops.disposeLater().block(PATIENCE);
    }

    private Mono<String> text(String path) {
        return pool.client().get().uri(path).responseSingle((head, body) -> body.asString());
    }

    /** An answer whose reader has stopped. */
    private Subscription unread(String path) {
        BaseSubscriber<byte[]> reader = new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                // The reader requests nothing.
            }
        };
        pool.client()
                .get()
                .uri(path)
                .response((head, body) -> body.asByteArray())
                .subscribe(reader);
        return reader;
    }

    /** Whether the server may send nothing more on a stream, or on its whole connection. */
    private static boolean isWindowUsedUp(Http2StreamChannel stream) {
        Channel connection = Objects.requireNonNull(stream.parent());
        Http2Connection http2 = connection.pipeline().get(Http2FrameCodec.class).connection();
        Http2FlowController windows = http2.remote().flowController();
        return windows.windowSize(http2.stream(stream.stream().id())) == 0
                || windows.windowSize(http2.connectionStream()) == 0;
    }

    @Test
    void isAnsweredBesideAnAnswerThatIsNotRead() {
        assertThat(text("/small").block(PATIENCE)).isEqualTo("small");
        Subscription reader = unread("/large");
        await().until(() -> streams.size() == 2);
        await().until(() -> isWindowUsedUp(streams.get(1)));

        // The client reads some of the large answer ahead; the last of these calls come after that.
        for (int i = 0; i < CALLS; i++) {
            assertThat(text("/small").block(PATIENCE)).isEqualTo("small");
        }

        assertThat(streams)
                .hasSize(2 + CALLS)
                .allMatch(stream -> stream.parent() == streams.get(0).parent());
        reader.cancel();
    }
}
