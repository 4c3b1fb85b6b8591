package io.weir.fleet;

import java.nio.charset.StandardCharsets;
import org.reactivestreams.Publisher;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Keeps the body of an endpoint's answer, which is sent as it is or replaced. For one exchange. */
final class CapturedResponse extends ServerHttpResponseDecorator {

    private static final int OK = 200;

    private volatile String body = "";

    CapturedResponse(ServerHttpResponse delegate) {
        super(delegate);
    }

    @Override
    public Mono<Void> writeWith(Publisher<? extends DataBuffer> content) {
        return DataBufferUtils.join(content).doOnNext(this::keep).then();
    }

    @Override
    public Mono<Void> writeAndFlushWith(Publisher<? extends Publisher<? extends DataBuffer>> content) {
        return writeWith(Flux.from(content).concatMap(part -> part));
    }

    @Override
    public Mono<Void> setComplete() {
        return Mono.empty();
    }

    private void keep(DataBuffer whole) {
        body = whole.toString(StandardCharsets.UTF_8);
        DataBufferUtils.release(whole);
    }

    /** The status of the endpoint's answer. */
    int status() {
        HttpStatusCode status = getStatusCode();
        return status == null ? OK : status.value();
    }

    /** Sends the endpoint's answer. */
    Mono<Void> send() {
        return body.isEmpty() ? getDelegate().setComplete() : write(body);
    }

    /** Sends another answer in place of the endpoint's. */
    Mono<Void> replace(int status, String json) {
        HttpHeaders headers = getHeaders();
        headers.remove(HttpHeaders.CONTENT_LENGTH);
        headers.setContentType(MediaType.APPLICATION_JSON);
        setRawStatusCode(status);
        return write(json);
    }

    private Mono<Void> write(String text) {
        return getDelegate()
                .writeWith(Mono.fromSupplier(() -> bufferFactory().wrap(text.getBytes(StandardCharsets.UTF_8))));
    }
}
