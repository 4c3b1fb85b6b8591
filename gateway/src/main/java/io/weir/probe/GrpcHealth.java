package io.weir.probe;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.http.client.HttpClientResponse;

/**
 * Requests of gRPC's health service. The answer is good if the service is {@code SERVING} and the call itself
 * succeeds.
 *
 * @see <a href="https://github.com/grpc/grpc/blob/master/doc/health-checking.md">GRPC Health Checking Protocol</a>
 */
final class GrpcHealth {

    static final String PATH = "/grpc.health.v1.Health/Check";

    /** The field {@code service} of the request, a string. */
    private static final int SERVICE_FIELD = 0x0a;
    /** The field {@code status} with the value {@code SERVING}, as a message without compression. */
    private static final byte[] SERVING = {0, 0, 0, 0, 2, 8, 1};

    private static final int PREFIX_BYTES = 5;
    private static final String STATUS = "grpc-status";
    private static final String OK = "0";

    private static final ProbeRequest.Rule RULE = new ProbeRequest.Rule() {
        @Override
        public Mono<Boolean> isGood(HttpClientResponse answer, Connection from) {
            return isServing(answer, from);
        }

        @Override
        public String whyBad(HttpClientResponse answer) {
            return answer.status().equals(HttpResponseStatus.OK)
                    ? "is not SERVING"
                    : ProbeRequest.Rule.super.whyBad(answer);
        }
    };

    private GrpcHealth() {}

    /**
     * A request.
     *
     * @param service the service's full name, at most 127 characters of ASCII; empty: the whole server
     * @param head with {@code Host}; the fields of a gRPC call are added
     */
    static ProbeRequest of(String service, HttpHeaders head) {
        head.set(HttpHeaderNames.CONTENT_TYPE, "application/grpc");
        head.set(HttpHeaderNames.TE, "trailers");
        return new ProbeRequest(HttpMethod.POST, PATH, head, message(service), RULE);
    }

    private static ByteBuf message(String service) {
        byte[] name = service.getBytes(StandardCharsets.US_ASCII);
        ByteArrayOutputStream message = new ByteArrayOutputStream();
        message.writeBytes(new byte[PREFIX_BYTES - 1]);
        if (name.length == 0) {
            message.write(0);
        } else {
            message.write(2 + name.length);
            message.write(SERVICE_FIELD);
            message.write(name.length);
            message.writeBytes(name);
        }
        return Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(message.toByteArray()));
    }

    private static Mono<Boolean> isServing(HttpClientResponse answer, Connection from) {
        return from.inbound()
                .receive()
                .asByteArray()
                // A longer answer is not good: it is collected up to one part more than expected.
                .scan(new byte[0], GrpcHealth::concatenated)
                .takeUntil(message -> message.length > SERVING.length)
                .last()
                .map(message -> Arrays.equals(message, SERVING))
                .flatMap(serves -> serves ? hasSucceeded(answer) : Mono.just(false))
                .defaultIfEmpty(false);
    }

    /** Whether the trailers report no failure of the call. The body is complete. */
    private static Mono<Boolean> hasSucceeded(HttpClientResponse answer) {
        return answer.trailerHeaders()
                .defaultIfEmpty(EmptyHttpHeaders.INSTANCE)
                .map(trailers -> OK.equals(trailers.get(STATUS, OK)));
    }

    private static byte[] concatenated(byte[] first, byte[] second) {
        byte[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }
}
