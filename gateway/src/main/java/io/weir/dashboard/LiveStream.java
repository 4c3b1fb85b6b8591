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

/** Lets a feed out over HTTP, as server-sent events. */
final class LiveStream {

    private static final MediaType EVENTS = MediaType.parseMediaType("text/event-stream;charset=UTF-8");

    private final LiveFeed feed;

    LiveStream(LiveFeed feed) {
        this.feed = feed;
    }

    /** Answers with a stream that ends when the gateway does, or the viewer leaves. */
    Mono<ServerResponse> open(LiveFeed.Format format, ServerRequest request) {
        if (feed.viewers() >= LiveFeed.MAX_VIEWERS) {
            return ServerResponse.status(503)
                    .header(HttpHeaders.RETRY_AFTER, "5")
                    .build();
        }
        boolean gzip = acceptsGzip(request.headers().asHttpHeaders());
        ServerResponse.BodyBuilder response = ServerResponse.ok()
                .contentType(EVENTS)
                .header(HttpHeaders.CACHE_CONTROL, "no-store, no-transform")
                .header(HttpHeaders.VARY, HttpHeaders.ACCEPT_ENCODING)
                // A proxy that gathers an answer before it passes it on would never pass this one on.
                .header("X-Accel-Buffering", "no");
        if (gzip) {
            response.header(HttpHeaders.CONTENT_ENCODING, "gzip");
        }
        return response.body((output, context) -> output.writeAndFlushWith(events(format, gzip, output)));
    }

    private Flux<Publisher<DataBuffer>> events(LiveFeed.Format format, boolean gzip, ServerHttpResponse output) {
        Channel channel = channel(output);
        return Flux.create(sink -> {
            Viewer viewer = new Viewer(new Connection(sink, output, channel), gzip);
            sink.onDispose(() -> feed.leave(format, viewer));
            if (!feed.join(format, viewer)) {
                sink.complete();
            }
        });
    }

    /** A browser names it without a weight; whoever says {@code gzip;q=0} does not want it. */
    private static boolean acceptsGzip(HttpHeaders headers) {
        String accepted = headers.getFirst(HttpHeaders.ACCEPT_ENCODING);
        return accepted != null && accepted.contains("gzip") && !accepted.contains("gzip;q=0");
    }

    private static Channel channel(ServerHttpResponse output) {
        HttpServerResponse response = ServerHttpResponseDecorator.getNativeResponse(output);
        AtomicReference<@Nullable Channel> channel = new AtomicReference<>();
        response.withConnection(connection -> channel.set(connection.channel()));
        Channel found = channel.get();
        if (found == null) {
            throw new IllegalStateException("a response without a connection");
        }
        return found;
    }

    private record Connection(FluxSink<Publisher<DataBuffer>> sink, ServerHttpResponse output, Channel channel)
            implements Viewer.Line {

        @Override
        public boolean isReady() {
            return channel.isWritable();
        }

        @Override
        public void send(byte[] bytes) {
            // Wrapped, not copied: all viewers share the bytes.
            sink.next(Mono.fromSupplier(() -> output.bufferFactory().wrap(bytes)));
        }

        @Override
        public void end() {
            sink.complete();
        }

        @Override
        @SuppressWarnings("FutureReturnValueIgnored") // Whatever becomes of it, the stream is disposed of.
        public void cut() {
            channel.close();
        }
    }
}
