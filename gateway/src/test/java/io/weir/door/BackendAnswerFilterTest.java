package io.weir.door;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.ssl.SslClosedEngineException;
import io.netty.handler.ssl.SslHandler;
import java.nio.charset.StandardCharsets;
import java.security.NoSuchAlgorithmException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.mock.http.server.reactive.MockServerHttpResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.channel.AbortedException;
import reactor.test.StepVerifier;

/** Writes whose caller leaves before the end of the answer, and writes that fail otherwise. */
class BackendAnswerFilterTest {

    private final MockServerHttpResponse response = new MockServerHttpResponse();

    private static Flux<DataBuffer> body() {
        return Flux.just(DefaultDataBufferFactory.sharedInstance.wrap("answer".getBytes(StandardCharsets.UTF_8)));
    }

    /** The failure of a write after the end of TLS; only Netty can create it. */
    private static Throwable writeAfterTheEndOfTls() throws NoSuchAlgorithmException {
        SSLEngine engine = SSLContext.getDefault().createSSLEngine();
        engine.setUseClientMode(true);
        EmbeddedChannel channel = new EmbeddedChannel(new SslHandler(engine));
        engine.closeOutbound();
        ChannelFuture written = channel.write(Unpooled.wrappedBuffer(new byte[] {1}));
        channel.flush();
        Throwable failure = requireNonNull(written.cause(), "the failure of the write");
        channel.finishAndReleaseAll();
        return failure;
    }

    @Test
    void aTlsCallerWhoLeavesAbortsTheResponse() throws NoSuchAlgorithmException {
        Throwable closed = writeAfterTheEndOfTls();
        assertThat(closed).isInstanceOf(SslClosedEngineException.class);
        response.setWriteHandler(body -> Mono.error(closed));

        StepVerifier.create(BackendAnswerFilter.write(response, body()))
                .verifyErrorSatisfies(failure ->
                        assertThat(failure).isInstanceOf(AbortedException.class).hasCause(closed));
    }

    @Test
    void anotherFailureStaysAsItIs() {
        IllegalStateException defect = new IllegalStateException("a defect");
        response.setWriteHandler(body -> Mono.error(defect));

        StepVerifier.create(BackendAnswerFilter.write(response, body()))
                .verifyErrorSatisfies(failure -> assertThat(failure).isSameAs(defect));
    }

    @Test
    void writesTheBodyOfACallerWhoStays() {
        StepVerifier.create(BackendAnswerFilter.write(response, body())).verifyComplete();

        StepVerifier.create(response.getBodyAsString()).expectNext("answer").verifyComplete();
    }
}
