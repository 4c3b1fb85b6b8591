package io.weir.door;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.Callable;
import org.reactivestreams.Publisher;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The general door's response, which compresses the backend's body if the request's route asks for it. It is
 * the innermost response: filters that change the body see it uncompressed.
 */
final class CompressibleResponse extends ServerHttpResponseDecorator {

    private final ChainRequest request;

    CompressibleResponse(ServerHttpResponse delegate, ChainRequest request) {
        super(delegate);
        this.request = request;
    }

    @Override
    public Mono<Void> writeWith(Publisher<? extends DataBuffer> body) {
        InboundRequest inbound = request.inbound();
        if (request.caller() == null || !ResponseCompression.isPossible(inbound)) {
            return super.writeWith(body);
        }
        NettyDataBufferFactory buffers = (NettyDataBufferFactory) bufferFactory();
        if (body instanceof Callable<?> complete) {
            ByteBuf whole = NettyDataBufferFactory.toByteBuf(buffer(complete));
            return super.writeWith(Flux.just(buffers.wrap(ResponseCompression.apply(inbound, status(), whole))));
        }
        Publisher<ByteBuf> encoded =
                ResponseCompression.apply(inbound, status(), Flux.from(body).map(NettyDataBufferFactory::toByteBuf));
        return super.writeWith(Flux.from(encoded).map(buffers::wrap));
    }

    private int status() {
        var status = getStatusCode();
        return status == null ? 200 : status.value();
    }

    /** The only buffer of a body that is complete, such as of {@link Flux#just}. */
    private static DataBuffer buffer(Callable<?> complete) {
        try {
            return (DataBuffer) complete.call();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
