package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.weir.drain.Drain;
import io.weir.testing.Leaks;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(Leaks.class)
class Http2ScannerTest {

    private static final int DATA = 0;
    private static final int HEADERS = 1;
    private static final int PING = 6;
    private static final int CONTINUATION = 9;
    private static final int END_HEADERS = 4;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Http2Scanner scanner = new Http2Scanner(new CallerConnection(
            channel,
            EdgeRules.of(new TestEdgeProperties().properties(), new Drain(), EdgeListener.NONE, EdgeShedding.NONE),
            TestEdgeProperties.unlimitedClients(),
            null));

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
        for (int from = 0; from < steps.size(); ) {
            int to = Math.min(steps.size(), from + 1 + random.nextInt(random.nextBoolean() ? 2 : 100));
            ByteBuf bytes = Unpooled.buffer();
            for (Step step : steps.subList(from, to)) {
                bytes.writeByte(step.value);
            }
            channel.writeInbound(bytes);
            ByteBuf passed = channel.readInbound();
            assertThat(passed).isSameAs(bytes);
            passed.release();
            assertThat(scanner.isInHead()).as("seed " + seed).isEqualTo(steps.get(to - 1).inHead);
            from = to;
        }
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
