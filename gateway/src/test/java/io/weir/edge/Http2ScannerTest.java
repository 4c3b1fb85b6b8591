package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.util.ReferenceCountUtil;
import io.weir.drain.Drain;
import io.weir.testing.Leaks;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(Leaks.class)
class Http2ScannerTest {

    private static final int DATA = 0;
    private static final int HEADERS = 1;
    private static final int RST_STREAM = 3;
    private static final int SETTINGS = 4;
    private static final int PING = 6;
    private static final int WINDOW_UPDATE = 8;
    private static final int CONTINUATION = 9;
    private static final int END_HEADERS = 4;
    /** The header block of {@code GET http://a/}. */
    private static final byte[] GET = {(byte) 0x82, (byte) 0x86, (byte) 0x84, 0x41, 1, 'a'};

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final CallerConnection connection = new CallerConnection(
            channel,
            EdgeRules.of(new TestEdgeProperties().properties(), new Drain(), EdgeListener.NONE, EdgeShedding.NONE),
            TestEdgeProperties.unlimitedClients(),
            null);
    private final Http2Scanner scanner = new Http2Scanner(connection);

    /** One byte of the input, and whether a head is incomplete after it. */
    private record Step(byte value, boolean inHead) {}

    @Test
    void tracksWhetherAHeadIsIncompleteAtEveryByte() {
        channel.pipeline().addLast(scanner);
        List<Step> steps = new ArrayList<>();
        ByteBuf preface = Http2CodecUtil.connectionPrefaceBuf();
        while (preface.isReadable()) {
            steps.add(new Step(preface.readByte(), false));
        }
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int i = 0; i < 500; i++) {
            switch (random.nextInt(4)) {
                case 0 -> frame(steps, DATA, random.nextInt(16), random.nextInt(40), false);
                case 1 -> frame(steps, PING, 0, 8, false);
                case 2 -> frame(steps, HEADERS, END_HEADERS | random.nextInt(2), random.nextInt(40), false);
                default -> {
                    frame(steps, HEADERS, random.nextInt(2), random.nextInt(40), true);
                    frame(steps, CONTINUATION, 0, random.nextInt(300), true);
                    frame(steps, CONTINUATION, END_HEADERS, random.nextInt(40), false);
                }
            }
        }
        ByteBuf sent = Unpooled.buffer();
        ByteBuf passed = Unpooled.buffer();
        for (int from = 0; from < steps.size(); ) {
            int to = Math.min(steps.size(), from + 1 + random.nextInt(random.nextBoolean() ? 2 : 100));
            ByteBuf bytes = Unpooled.buffer();
            for (Step step : steps.subList(from, to)) {
                bytes.writeByte(step.value);
            }
            sent.writeBytes(bytes.duplicate());
            channel.writeInbound(bytes);
            readPassed(passed);
            assertThat(scanner.isInHead()).as("seed " + seed).isEqualTo(steps.get(to - 1).inHead);
            from = to;
        }
        assertThat(passed).as("seed " + seed).isEqualTo(sent);
        channel.finishAndReleaseAll();
    }

    private void readPassed(ByteBuf target) {
        for (ByteBuf part = channel.readInbound(); part != null; part = channel.readInbound()) {
            target.writeBytes(part);
            part.release();
        }
    }

    /** Streams 1 and 3 are open, and the gateway has reset 3. */
    @Test
    void passesAllFramesButThoseOfStreamsThatTheGatewayHasReset() {
        channel.pipeline().addLast(scanner);
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        ByteBuf open = Unpooled.copiedBuffer(Http2CodecUtil.connectionPrefaceBuf());
        frame(open, HEADERS, END_HEADERS, 1, 10);
        frame(open, HEADERS, END_HEADERS, 3, 10);
        channel.writeInbound(open);
        readPassed(Unpooled.buffer());
        scanner.frames().mayReset(3, 7);
        ByteBuf sent = Unpooled.buffer();
        ByteBuf expected = Unpooled.buffer();
        for (int i = 0; i < 200; i++) {
            int type =
                    switch (random.nextInt(4)) {
                        case 0 -> WINDOW_UPDATE;
                        case 1 -> RST_STREAM;
                        default -> DATA;
                    };
            int length = type == DATA ? random.nextInt(300) : 4;
            frame(sent, type, 0, 3, length);
            if (random.nextBoolean()) {
                int other = random.nextBoolean() ? DATA : WINDOW_UPDATE;
                frame(sent, other, 0, 1, 4);
                frame(expected, other, 0, 1, 4);
            }
        }
        frame(sent, DATA, 1, 1, 0);
        frame(expected, DATA, 1, 1, 0);
        ByteBuf passed = Unpooled.buffer();
        while (sent.isReadable()) {
            int length = Math.min(sent.readableBytes(), 1 + random.nextInt(random.nextBoolean() ? 3 : 400));
            channel.writeInbound(sent.readBytes(length));
            readPassed(passed);
        }
        assertThat(passed).as("seed " + seed).isEqualTo(expected);
        channel.finishAndReleaseAll();
    }

    private static void frame(ByteBuf target, int type, int flags, int stream, int length) {
        target.writeMedium(length).writeByte(type).writeByte(flags).writeInt(stream);
        for (int i = 0; i < length; i++) {
            target.writeByte(stream);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 5, 12, 19})
    void passesAHeadBeforeItsBodyIsJudged(int inSecondRead) {
        channel.pipeline().addLast(scanner, new ChannelInboundHandlerAdapter() {
            private int bytes;

            @Override
            public void channelRead(ChannelHandlerContext context, Object message) {
                bytes += ((ByteBuf) message).readableBytes();
                if (bytes == 24 + 19) {
                    // The codec refuses the stream.
                    scanner.frames().mayReset(1, 7);
                }
                context.fireChannelRead(message);
            }
        });
        ByteBuf sent = Unpooled.copiedBuffer(Http2CodecUtil.connectionPrefaceBuf());
        frame(sent, HEADERS, END_HEADERS, 1, 10);
        ByteBuf expected = Unpooled.copiedBuffer(sent);
        // The first read ends in the head, or in its frame's header.
        channel.writeInbound(sent.readBytes(sent.readableBytes() - inSecondRead));
        frame(sent, DATA, 0, 1, 100);
        frame(sent, RST_STREAM, 0, 1, 4);
        channel.writeInbound(sent);
        ByteBuf passed = Unpooled.buffer();
        readPassed(passed);
        assertThat(passed).isEqualTo(expected);
        channel.finishAndReleaseAll();
    }

    /** A call that begins costs far more than the frames of its head and its reset. */
    @ParameterizedTest
    @CsvSource({"490, 490", "510, 0"})
    void passesNoneOfTheCallsInAReadThatEndsTheConnection(int sent, int begun) {
        AtomicInteger heads = new AtomicInteger();
        channel.pipeline()
                .addLast(Http2FrameCodecBuilder.forServer()
                        .decoderEnforceMaxRstFramesPerWindow(0, 0)
                        .build());
        Http2Guard.install(channel.pipeline(), connection);
        channel.pipeline().addLast(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext context, Object message) {
                if (message instanceof Http2HeadersFrame) {
                    heads.incrementAndGet();
                }
                ReferenceCountUtil.release(message);
            }
        });
        ByteBuf preface = Unpooled.copiedBuffer(Http2CodecUtil.connectionPrefaceBuf());
        frame(preface, SETTINGS, 0, 0, 0);
        channel.writeInbound(preface);
        ByteBuf read = Unpooled.buffer();
        for (int i = 0; i < sent; i++) {
            int stream = 2 * i + 1;
            read.writeMedium(GET.length).writeByte(HEADERS).writeByte(END_HEADERS | 1);
            read.writeInt(stream).writeBytes(GET);
            frame(read, RST_STREAM, 0, stream, 4);
        }
        channel.writeInbound(read);

        assertThat(heads).hasValue(begun);
        assertThat(channel.isOpen()).isEqualTo(begun > 0);
        channel.finishAndReleaseAll();
    }

    @Test
    void removesItselfFromAnHttp1Connection() {
        channel.pipeline().addLast(scanner);

        channel.writeInbound(Unpooled.copiedBuffer("P", StandardCharsets.US_ASCII));
        assertThat(channel.pipeline().get(Http2Scanner.class)).isNotNull();
        channel.writeInbound(Unpooled.copiedBuffer("OST", StandardCharsets.US_ASCII));
        assertThat(channel.pipeline().get(Http2Scanner.class)).isNull();

        assertThat(channel.inboundMessages()).hasSize(2);
        channel.finishAndReleaseAll();
    }

    private static void frame(List<Step> steps, int type, int flags, int length, boolean continues) {
        // The scanner leaves the states of a server's streams to the codec.
        byte[] header = {0, (byte) (length >> 8), (byte) length, (byte) type, (byte) flags, 0, 0, 0, 2};
        boolean body = type == DATA;
        for (int i = 0; i < 9; i++) {
            boolean last = i == 8;
            steps.add(new Step(header[i], !last || continues || (!body && length > 0)));
        }
        for (int i = 0; i < length; i++) {
            steps.add(new Step((byte) i, continues || (!body && i < length - 1)));
        }
    }
}
