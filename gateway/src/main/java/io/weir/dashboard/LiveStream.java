package io.weir.dashboard;

import io.netty.channel.Channel;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxSink;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerResponse;

/** Serves a feed over HTTP, as server-sent events. */
final class LiveStream {

    private static final MediaType EVENTS = MediaType.parseMediaType("text/event-stream;charset=UTF-8");

    private final LiveFeed feed;

    LiveStream(LiveFeed feed) {
        this.feed = feed;
    }

    /** Answers with a stream that ends with the gateway, or when the client leaves. */
    Mono<ServerResponse> open(LiveFeed.Format format, ServerRequest request) {
        if (feed.clients() >= LiveFeed.MAX_CLIENTS) {
            return ServerResponse.status(503)
                    .header(HttpHeaders.RETRY_AFTER, "5")
                    .build();
        }
        boolean gzip = acceptsGzip(request.headers().asHttpHeaders());
        ServerResponse.BodyBuilder response = ServerResponse.ok()
                .contentType(EVENTS)
                .header(HttpHeaders.CACHE_CONTROL, "no-store, no-transform")
                .header(HttpHeaders.VARY, HttpHeaders.ACCEPT_ENCODING)
                // Nginx would otherwise buffer the stream, which never ends.
                .header("X-Accel-Buffering", "no");
        if (gzip) {
            response.header(HttpHeaders.CONTENT_ENCODING, "gzip");
        }
        return response.body((output, context) -> output.writeAndFlushWith(events(format, gzip, output)));
    }

    private Flux<Publisher<DataBuffer>> events(LiveFeed.Format format, boolean gzip, ServerHttpResponse output) {
        HttpServerResponse response = ServerHttpResponseDecorator.getNativeResponse(output);
        // After the end, a client that connects again must not reach this gateway while it stops.
        response.keepAlive(false);
        Channel channel = channel(response);
        return Flux.create(sink -> {
            StreamClient client = new StreamClient(new NettyConnection(sink, output, channel), gzip);
            sink.onDispose(() -> feed.remove(format, client));
            if (!feed.add(format, client)) {
                sink.complete();
            }
        });
    }

    /** Browsers list {@code gzip} without a weight; {@code gzip;q=0} declines it. */
    private static boolean acceptsGzip(HttpHeaders headers) {
        String accepted = headers.getFirst(HttpHeaders.ACCEPT_ENCODING);
        return accepted != null && accepted.contains("gzip") && !accepted.contains("gzip;q=0");
    }

    private static Channel channel(HttpServerResponse response) {
        AtomicReference<@Nullable Channel> channel = new AtomicReference<>();
        response.withConnection(connection -> channel.set(connection.channel()));
        Channel found = channel.get();
        if (found == null) {
            throw new IllegalStateException("response without a connection");
        }
        return found;
    }

    private record NettyConnection(FluxSink<Publisher<DataBuffer>> sink, ServerHttpResponse output, Channel channel)
            implements StreamClient.Connection {

        @Override
        public boolean isReady() {
            return channel.isWritable();
        }

        @Override
        public void send(byte[] bytes) {
            // Wrapped, not copied: all clients share the bytes.
            sink.next(Mono.fromSupplier(() -> output.bufferFactory().wrap(bytes)));
        }

        @Override
        public void end() {
            sink.complete();
        }

        @Override
        @SuppressWarnings("FutureReturnValueIgnored") // The stream is disposed of in any case.
        public void close() {
            channel.close();
        }
    }
}
