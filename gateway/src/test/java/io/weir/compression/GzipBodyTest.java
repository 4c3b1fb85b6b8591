package io.weir.compression;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.zip.GZIPInputStream;
import java.util.zip.Inflater;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.test.publisher.TestPublisher;

class GzipBodyTest {

    private static final int HEADER_BYTES = 10;

    private final CompressionMemory memory = new CompressionMemory(1L << 20);
    private final TestPublisher<ByteBuf> source = TestPublisher.create();
    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    private final List<ByteBuf> sent = new ArrayList<>();
    private final GzipBody body = new GzipBody(source.flux(), allocator, memory);
    private final Sink sink = new Sink();

    /** Takes as much as the test requests. */
    private static final class Sink extends BaseSubscriber<ByteBuf> {

        private final ByteArrayOutputStream received = new ByteArrayOutputStream();
        private int buffers;
        private boolean isComplete;
        private @Nullable Throwable failure;

        @Override
        protected void hookOnSubscribe(Subscription subscription) {}

        @Override
        protected void hookOnNext(ByteBuf buffer) {
            buffers++;
            byte[] bytes = new byte[buffer.readableBytes()];
            buffer.readBytes(bytes);
            received.writeBytes(bytes);
            buffer.release();
        }

        @Override
        protected void hookOnComplete() {
            isComplete = true;
        }

        @Override
        protected void hookOnError(Throwable throwable) {
            failure = throwable;
        }

        /** All that a receiver can decode now. */
        private String decodable() throws Exception {
            byte[] bytes = received.toByteArray();
            Inflater inflater = new Inflater(true);
            inflater.setInput(bytes, HEADER_BYTES, bytes.length - HEADER_BYTES);
            byte[] out = new byte[1 << 16];
            int length = inflater.inflate(out);
            inflater.end();
            return new String(out, 0, length, StandardCharsets.US_ASCII);
        }

        private byte[] decoded() throws IOException {
            return new GZIPInputStream(new ByteArrayInputStream(received.toByteArray())).readAllBytes();
        }
    }

    @AfterEach
    void freesEverything() {
        assertThat(sent).allMatch(buffer -> buffer.refCnt() == 0);
        assertThat(memory.underWay()).isZero();
        assertThat(allocator.metric().usedDirectMemory()).isZero();
    }

    private void next(String text) {
        ByteBuf buffer = Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII);
        sent.add(buffer);
        source.next(buffer);
    }

    @Test
    void passesEachBufferOnAtOnceAndDecodable() throws Exception {
        body.subscribe(sink);
        sink.request(Long.MAX_VALUE);

        next("data: 1\n\n");
        assertThat(sink.decodable()).isEqualTo("data: 1\n\n");
        next("data: 2\n\n");
        assertThat(sink.decodable()).isEqualTo("data: 1\n\ndata: 2\n\n");
        assertThat(sink.isComplete).isFalse();

        source.complete();
        assertThat(sink.isComplete).isTrue();
        assertThat(new String(sink.decoded(), StandardCharsets.US_ASCII)).isEqualTo("data: 1\n\ndata: 2\n\n");
    }

    @Test
    void passesDemandUnchangedAndWaitsWithTheEnd() throws Exception {
        body.subscribe(sink);
        source.assertMaxRequested(0);
        sink.request(2);
        source.assertMinRequested(2).assertMaxRequested(2);

        next("a");
        next("b");
        source.complete();
        assertThat(sink.buffers).isEqualTo(2);
        assertThat(sink.isComplete).isFalse();

        sink.request(1);
        assertThat(sink.buffers).isEqualTo(3);
        assertThat(sink.isComplete).isTrue();
        assertThat(new String(sink.decoded(), StandardCharsets.US_ASCII)).isEqualTo("ab");
    }

    @Test
    void usesDemandThatIsLeftForTheEnd() {
        body.subscribe(sink);
        sink.request(2);
        next("a");
        source.complete();

        assertThat(sink.isComplete).isTrue();
    }

    @Test
    void freesTheEncoderWhenTheCallerLeaves() {
        body.subscribe(sink);
        sink.request(3);
        next("a");
        assertThat(memory.underWay()).isEqualTo(1);

        sink.cancel();

        source.assertCancelled();
        assertThat(memory.underWay()).isZero();
        ByteBuf late = Unpooled.copiedBuffer("late", StandardCharsets.US_ASCII);
        sent.add(late);
        body.onNext(late);
        body.onComplete();
        assertThat(sink.buffers).isEqualTo(1);
    }

    @Test
    void releasesAnEndThatWasNeverRequested() {
        body.subscribe(sink);
        sink.request(1);
        next("a");
        source.complete();

        sink.cancel();

        assertThat(sink.isComplete).isFalse();
    }

    @Test
    void passesAFailureOnAndFreesTheEncoder() {
        body.subscribe(sink);
        sink.request(2);
        next("a");
        source.error(new IllegalStateException("broken off"));

        assertThat(sink.failure).hasMessage("broken off");
        assertThat(sink.isComplete).isFalse();
    }

    @Test
    void makesAnEmptyBodyAnEmptyStream() throws Exception {
        body.subscribe(sink);
        sink.request(1);
        source.complete();

        assertThat(sink.isComplete).isTrue();
        assertThat(sink.decoded()).isEmpty();
    }

    @Test
    void needsNoMemoryBeforeTheFirstBuffer() {
        body.subscribe(sink);

        assertThat(memory.underWay()).isZero();
        sink.cancel();
    }

    @Test
    void restoresAnyBytesFromAnyBuffers() throws Exception {
        Random random = new Random(7);
        ByteArrayOutputStream expected = new ByteArrayOutputStream();
        List<ByteBuf> parts = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            byte[] bytes = new byte[random.nextInt(20_000)];
            if (i % 3 == 0) {
                random.nextBytes(bytes);
            }
            expected.writeBytes(bytes);
            int half = bytes.length / 2;
            CompositeByteBuf composite = Unpooled.compositeBuffer();
            composite.addComponent(true, Unpooled.copiedBuffer(bytes, 0, half));
            composite.addComponent(true, Unpooled.directBuffer().writeBytes(bytes, half, bytes.length - half));
            parts.add(composite);
        }
        sent.addAll(parts);

        new GzipBody(Flux.fromIterable(parts), allocator, memory).subscribe(sink);
        sink.request(Long.MAX_VALUE);

        assertThat(sink.decoded()).isEqualTo(expected.toByteArray());
    }

    @Test
    void compressesAWholeBody() throws Exception {
        ByteBuf whole = Unpooled.copiedBuffer("abc".repeat(5_000), StandardCharsets.US_ASCII);
        ByteBuf compressed = Objects.requireNonNull(CompressionRule.compress(whole, allocator));

        byte[] bytes = new byte[compressed.readableBytes()];
        compressed.readBytes(bytes);
        compressed.release();
        assertThat(bytes.length).isLessThan(500);
        assertThat(new GZIPInputStream(new ByteArrayInputStream(bytes)).readAllBytes())
                .isEqualTo("abc".repeat(5_000).getBytes(StandardCharsets.US_ASCII));
        assertThat(whole.refCnt()).as("the caller's").isEqualTo(1);

        ByteBuf noise = Unpooled.wrappedBuffer(new byte[] {1, 2, 3});
        assertThat(CompressionRule.compress(noise, allocator))
                .as("would not be smaller")
                .isNull();
    }

    /** The caller leaves on one thread while a buffer is encoded on another. */
    @Test
    void freesTheEncoderOnceIfTheCallerLeavesMeanwhile() throws Exception {
        byte[] bytes = new byte[8_192];
        new Random(3).nextBytes(bytes);
        for (int i = 0; i < 500; i++) {
            Subscription[] upstream = new Subscription[1];
            Flux<ByteBuf> never = Flux.from(subscriber -> subscriber.onSubscribe(Subscriptions.NONE));
            GzipBody raced = new GzipBody(never, ByteBufAllocator.DEFAULT, memory);
            raced.subscribe(new CoreSubscriber<>() {
                @Override
                public void onSubscribe(Subscription s) {
                    upstream[0] = s;
                    s.request(10);
                }

                @Override
                public void onNext(ByteBuf buffer) {
                    buffer.release();
                }

                @Override
                public void onError(Throwable failure) {}

                @Override
                public void onComplete() {}
            });
            ByteBuf part = Unpooled.copiedBuffer(bytes);
            CyclicBarrier together = new CyclicBarrier(2);
            Thread leaving = Thread.ofPlatform().start(() -> {
                try {
                    together.await();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                upstream[0].cancel();
            });
            together.await();
            raced.onNext(part);
            raced.onComplete();
            leaving.join();

            assertThat(memory.underWay()).isZero();
            assertThat(part.refCnt()).isZero();
        }
    }

    private enum Subscriptions implements Subscription {
        NONE;

        @Override
        public void request(long n) {}

        @Override
        public void cancel() {}
    }
}
