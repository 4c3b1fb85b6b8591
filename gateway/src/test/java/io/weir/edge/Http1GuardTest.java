package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import io.weir.drain.Drain;
import io.weir.outcome.Reason;
import io.weir.testing.Leaks;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.netty.NettyPipeline;

@ExtendWith(Leaks.class)
class Http1GuardTest {

    private static final String GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    private final RecordingEdgeListener listener = new RecordingEdgeListener();
    private final Drain drain = new Drain();
    private final SwitchedShedding shedding = new SwitchedShedding();
    private final List<Throwable> caught = new ArrayList<>();
    private EmbeddedChannel channel = guarded();
    private boolean lastResponseWritten;

    @BeforeEach
    void freeze() {
        channel.freezeTime();
    }

    @AfterEach
    void finish() {
        channel.finishAndReleaseAll();
    }

    private EmbeddedChannel guarded() {
        EmbeddedChannel made = new EmbeddedChannel(new HttpServerCodec());
        made.pipeline().addLast(NettyPipeline.HttpTrafficHandler, new ChannelOutboundHandlerAdapter());
        made.freezeTime();
        EdgeRules rules = EdgeRules.of(new TestEdgeProperties().properties(), drain, listener, shedding);
        CallerConnection connection =
                new ConnectionRegistry(10, "10", TestEdgeProperties.unlimitedClients()).register(made, rules);
        assertThat(connection).isNotNull();
        connection.setTimeout(rules.headTimeoutNanos());
        Http1Guard.install(made.pipeline(), connection);
        made.pipeline().addLast(new ChannelInboundHandlerAdapter() {
            @Override
            public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
                caught.add(cause);
            }
        });
        return made;
    }

    // ---------------------------------------------------------------- time

    @Test
    void startsTheFirstHeadTimeoutWithTheConnection() {
        pass(9_000);
        send("GET / HT");
        pass(999);
        assertThat(written()).isEmpty();

        pass(1);
        assertThat(written()).startsWith("HTTP/1.1 408 Request Timeout\r\n");
        assertThat(listener.refused)
                .containsExactly(new RecordingEdgeListener.Refused(
                        Reason.CLIENT_TOO_SLOW, null, null, TimeUnit.SECONDS.toNanos(10)));
    }

    @Test
    void startsALaterHeadTimeoutWithItsFirstByte() {
        completeExchange();
        pass(60_000);
        send("GET / HT");
        pass(9_999);
        assertThat(written()).isEmpty();

        pass(1);
        assertThat(written()).startsWith("HTTP/1.1 408 ");
    }

    @Test
    void startsAPipelinedHeadTimeoutWithThePreviousResponse() {
        send(GET + "GET / HT");
        pass(60_000);
        writeResponse();
        assertThat(written()).startsWith("HTTP/1.1 200 ");
        pass(9_999);
        assertThat(written()).isEmpty();

        pass(1);
        assertThat(written()).startsWith("HTTP/1.1 408 ");
    }

    @Test
    void cancelsTheHeadTimeoutWhenTheHeadIsComplete() {
        send("GET / HT");
        pass(9_000);
        send("TP/1.1\r\nHost: a\r\n\r\n");
        pass(60_000);
        writeResponse();

        assertThat(written()).startsWith("HTTP/1.1 200 ");
        assertThat(channel.isOpen()).isTrue();
        assertThat(listener.refused).isEmpty();
    }

    @Test
    void closesAnIdleConnectionDespiteEmptyLines() {
        completeExchange();
        for (int i = 0; i < 74; i++) {
            pass(1_000);
            send("\r\n");
        }
        assertThat(channel.isOpen()).isTrue();

        pass(1_000);
        assertThat(channel.isOpen()).isFalse();
        assertThat(written()).isEmpty();
        assertThat(listener.refused).isEmpty();
    }

    @Test
    void keepsAConnectionInUse() {
        for (int i = 0; i < 10; i++) {
            completeExchange();
            pass(70_000);
        }

        assertThat(channel.isOpen()).isTrue();
    }

    @Test
    void schedulesNoTaskPerRequest() {
        completeExchange();
        long next = channel.runScheduledPendingTasks();

        for (int i = 0; i < 100; i++) {
            completeExchange();
        }

        assertThat(channel.runScheduledPendingTasks()).isEqualTo(next);
    }

    @Test
    void hasNoTimeoutForABody() {
        send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
        pass(600_000);

        assertThat(channel.isOpen()).isTrue();
    }

    // ---------------------------------------------------------------- linger

    @Test
    void closesALingeringConnectionAfterTheTimeout() {
        send("GET / HTTP/1.1\r\n\r\n" + "x".repeat(10));
        assertThat(written()).startsWith("HTTP/1.1 400 ");
        send("y".repeat(1000));
        pass(1_999);
        assertThat(channel.isOpen()).isTrue();

        pass(1);
        assertThat(channel.isOpen()).isFalse();
        assertThat(written()).isEmpty();
    }

    @Test
    void dropsRequestsBehindARefusal() {
        send(GET);
        assertThat(requests()).isEqualTo(1);
        send("GET / HTTP/1.1\r\n\r\n" + GET + GET);
        send(GET);
        assertThat(requests()).isZero();
        assertThat(written()).isEmpty();

        writeResponse();
        String written = written();
        assertThat(written).startsWith("HTTP/1.1 200 ").contains("HTTP/1.1 400 ");
        writeResponse();
        assertThat(lastResponseWritten).isFalse();
        assertThat(written()).isEmpty();
    }

    // ---------------------------------------------------------------- shedding

    @Test
    void refusesARequestWhileTheGatewaySheds() {
        shedding.isOn = true;
        send(GET);

        assertThat(written()).startsWith("HTTP/1.1 503 ").contains("urn:weir:gateway-overloaded");
        assertThat(requests()).isZero();
        assertThat(channel.isOpen()).isTrue();
        shedding.isOn = false;
        completeExchange();
    }

    @Test
    void passesOnARequestBehindAnotherWhileTheGatewaySheds() {
        send(GET);
        shedding.isOn = true;
        send(GET);

        assertThat(requests()).isEqualTo(2);
        writeResponse();
        writeResponse();
        assertThat(written()).doesNotContain("503");
        assertThat(listener.refused).isEmpty();
    }

    @Test
    void timesTheBodyOfARequestThatIsShed() {
        shedding.isOn = true;
        send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
        assertThat(written()).startsWith("HTTP/1.1 503 ");
        pass(9_999);
        assertThat(channel.isOpen()).isTrue();

        pass(2_001);
        pass(2_001);
        assertThat(channel.isOpen()).isFalse();
    }

    // ---------------------------------------------------------------- framing

    /** Valid requests pass unchanged, wherever their bytes are cut. */
    @Test
    void passesValidRequestsOnInAnyFragmentation() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int round = 0; round < 300; round++) {
            channel.finishAndReleaseAll();
            channel = guarded();
            StringBuilder stream = new StringBuilder();
            List<String> expected = new ArrayList<>();
            for (int n = 1 + random.nextInt(20); n > 0; n--) {
                append(stream, expected, random);
            }
            List<String> passed = new ArrayList<>();
            String bytes = stream.toString();
            for (int from = 0; from < bytes.length(); ) {
                int to = Math.min(bytes.length(), from + 1 + random.nextInt(random.nextBoolean() ? 5 : 200));
                send(bytes.substring(from, to));
                collect(passed);
                from = to;
            }
            assertThat(passed).as("seed " + seed).isEqualTo(expected);
            assertThat(listener.refused).as("seed " + seed).isEmpty();
        }
    }

    /** Appends a request whose body contains pieces that a scanner could mistake for a head. */
    private static void append(StringBuilder stream, List<String> expected, Random random) {
        String[] pieces = {"\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", "GET / HTTP/1.1", "0", "Host: a", "\r\n x", ";"};
        StringBuilder body = new StringBuilder();
        for (int n = random.nextInt(10); n > 0; n--) {
            body.append(pieces[random.nextInt(pieces.length)]);
        }
        String target = "/" + random.nextInt(1000);
        if (random.nextInt(4) == 0) {
            stream.append("\r\n");
        }
        switch (random.nextInt(3)) {
            case 0 -> {
                stream.append("GET ").append(target).append(" HTTP/1.1\r\nHost: a\r\nX:  y \t\r\n\r\n");
                body.setLength(0);
            }
            case 1 ->
                stream.append("POST ")
                        .append(target)
                        .append(" HTTP/1.1\r\nHost: a\r\nContent-Length: ")
                        .append(body.length())
                        .append("\r\n\r\n")
                        .append(body);
            default -> {
                stream.append("POST ")
                        .append(target)
                        .append(" HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: a\r\n\r\n");
                for (int from = 0; from < body.length(); ) {
                    int to = from + 1 + random.nextInt(body.length() - from);
                    stream.append(Integer.toHexString(to - from))
                            .append(random.nextBoolean() ? "" : ";a=\"b;\"")
                            .append("\r\n")
                            .append(body, from, to)
                            .append("\r\n");
                    from = to;
                }
                stream.append("0\r\n")
                        .append(random.nextBoolean() ? "" : "X-Y: z\r\nZ: y\r\n")
                        .append("\r\n");
            }
        }
        expected.add(target + " " + body);
    }

    /** Collects complete requests, and answers each. */
    private void collect(List<String> passed) {
        for (Object message = channel.readInbound(); message != null; message = channel.readInbound()) {
            if (message instanceof HttpRequest request) {
                partial.setLength(0);
                partial.append(request.uri()).append(' ');
            }
            if (message instanceof HttpContent content) {
                partial.append(content.content().toString(StandardCharsets.ISO_8859_1));
            }
            if (message instanceof LastHttpContent) {
                passed.add(partial.toString());
                writeResponse();
                written();
            }
            ReferenceCountUtil.release(message);
        }
    }

    private final StringBuilder partial = new StringBuilder();

    /** Any input is passed on, refused or awaited; no buffer leaks, and no exception is thrown. */
    @Test
    void survivesArbitraryInput() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        String[] pieces = {
            "\r\n",
            "\r\n",
            "\r",
            "\n",
            " ",
            "\t",
            ":",
            "GET / HTTP/1.1\r\n",
            "Host: a\r\n",
            "Host: a\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\n",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "5\r\n",
            "0\r\n\r\n",
            "abcde",
            "Connection: close\r\n",
            "Expect: 100-continue\r\n",
            "Upgrade: h2c\r\n",
            "\u0000",
            "\u00ff",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        };
        for (int round = 0; round < 3000; round++) {
            channel.finishAndReleaseAll();
            channel = guarded();
            for (int n = random.nextInt(25); n > 0 && channel.isOpen(); n--) {
                send(pieces[random.nextInt(pieces.length)]);
                if (random.nextInt(5) == 0) {
                    collect(new ArrayList<>());
                    pass(random.nextInt(20_000));
                }
            }
            assertThat(channel.isOpen() || !listener.refused.isEmpty() || listener.closed.get() > 0)
                    .as("seed " + seed)
                    .isTrue();
        }
        // A malformed body fails its reader; not every seed creates one.
        assertThat(caught)
                .as("seed " + seed)
                .allSatisfy(cause -> assertThat(cause)
                        .isInstanceOf(DecoderException.class)
                        .hasMessageStartingWith("the request's body is malformed"));
    }

    // ---------------------------------------------------------------- helpers

    private void completeExchange() {
        send(GET);
        assertThat(requests()).isEqualTo(1);
        writeResponse();
        assertThat(written()).startsWith("HTTP/1.1 200 ");
    }

    private void send(String bytes) {
        channel.writeInbound(Unpooled.copiedBuffer(bytes, StandardCharsets.ISO_8859_1));
    }

    private void writeResponse() {
        DefaultFullHttpResponse response =
                new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.EMPTY_BUFFER);
        response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, 0);
        ChannelFuture written = channel.writeOneOutbound(response);
        channel.flushOutbound();
        lastResponseWritten = written.isSuccess();
    }

    /** The number of requests that were passed on since the last call. */
    private int requests() {
        int requests = 0;
        for (Object message = channel.readInbound(); message != null; message = channel.readInbound()) {
            requests += message instanceof HttpRequest ? 1 : 0;
            ReferenceCountUtil.release(message);
        }
        return requests;
    }

    /** The bytes that were written since the last call. */
    private String written() {
        StringBuilder written = new StringBuilder();
        for (ByteBuf buffer = channel.readOutbound(); buffer != null; buffer = channel.readOutbound()) {
            written.append(buffer.toString(StandardCharsets.ISO_8859_1));
            buffer.release();
        }
        return written.toString();
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
    }
}
