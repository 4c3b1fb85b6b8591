package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.weir.edge.ProxyHeader.Progress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProxyHeaderTest {

    private static final byte[] REST = "GET / HTTP/1.1\r\n".getBytes(StandardCharsets.US_ASCII);

    /** The source of a header: address and port, {@code unknown}, or {@code own} for the balancer's own. */
    private static String source(ProxyHeader header) {
        @Nullable InetSocketAddress source = header.source();
        return source == null
                ? "own"
                : source.isUnresolved()
                        ? source.getHostString()
                        : source.getAddress().getHostAddress() + " " + source.getPort();
    }

    static Stream<Arguments> headers() {
        byte[] unix = ProxyHeaders.version2(ProxyHeaders.PROXY, 0x31, new byte[216]);
        byte[] datagram = ProxyHeaders.version2(ProxyHeaders.PROXY, 0x12, new byte[12]);
        return Stream.of(
                Arguments.of("PROXY TCP4 192.0.2.7 10.0.0.1 56324 443", "192.0.2.7 56324"),
                Arguments.of("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535", "255.255.255.255 65535"),
                Arguments.of("PROXY TCP4 192.0.2.7 10.0.0.1 0 0", "192.0.2.7 0"),
                Arguments.of("PROXY TCP6 2001:db8::7 2001:db8::1 56324 443", "2001:db8:0:0:0:0:0:7 56324"),
                Arguments.of("PROXY TCP6 ::ffff:192.0.2.7 ::ffff:10.0.0.1 1 2", "192.0.2.7 1"),
                Arguments.of("PROXY UNKNOWN", "unknown"),
                Arguments.of("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535", "unknown"),
                Arguments.of(ProxyHeaders.version2("192.0.2.7", 0), "192.0.2.7 49153"),
                Arguments.of(ProxyHeaders.version2("192.0.2.7", 65_523), "192.0.2.7 49153"),
                Arguments.of(ProxyHeaders.version2("2001:db8::7", 9), "2001:db8:0:0:0:0:0:7 49153"),
                Arguments.of(ProxyHeaders.version2(ProxyHeaders.LOCAL, 0, new byte[0]), "own"),
                Arguments.of(ProxyHeaders.version2(ProxyHeaders.LOCAL, 0x11, new byte[12]), "own"),
                // The command LOCAL makes the family meaningless.
                Arguments.of(ProxyHeaders.version2(ProxyHeaders.LOCAL, 0xff, new byte[3]), "own"),
                Arguments.of(ProxyHeaders.version2(ProxyHeaders.PROXY, 0, new byte[0]), "unknown"),
                Arguments.of(ProxyHeaders.version2(ProxyHeaders.PROXY, 0, new byte[5]), "unknown"),
                Arguments.of(unix, "unknown"),
                Arguments.of(datagram, "unknown"));
    }

    private static byte[] bytes(Object header) {
        return header instanceof byte[] binary ? binary : ProxyHeaders.version1((String) header);
    }

    @ParameterizedTest
    @MethodSource("headers")
    void readsAHeaderUpToItsEnd(Object given, String source) {
        ProxyHeader header = new ProxyHeader();
        ByteBuf in = Unpooled.wrappedBuffer(bytes(given), REST);

        assertThat(header.read(in)).as(header.problem()).isEqualTo(Progress.COMPLETE);

        assertThat(source(header)).isEqualTo(source);
        assertThat(in.readableBytes()).isEqualTo(REST.length);
    }

    @ParameterizedTest
    @MethodSource("headers")
    void readsAHeaderThatArrivesByteByByte(Object given, String source) {
        ProxyHeader header = new ProxyHeader();
        byte[] all = bytes(given);
        for (int i = 0; i < all.length - 1; i++) {
            assertThat(header.read(Unpooled.wrappedBuffer(all, i, 1)))
                    .as("byte " + i)
                    .isEqualTo(Progress.INCOMPLETE);
            assertThat(header.hasBegun()).isTrue();
        }
        assertThat(header.read(Unpooled.wrappedBuffer(all, all.length - 1, 1))).isEqualTo(Progress.COMPLETE);
        assertThat(source(header)).isEqualTo(source);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "PROXY ",
                "PROXY TCP4",
                "PROXY TCP5 192.0.2.7 10.0.0.1 1 2",
                "PROXY UDP4 192.0.2.7 10.0.0.1 1 2",
                "PROXY tcp4 192.0.2.7 10.0.0.1 1 2",
                "PROXY UNKNOWNS",
                "PROXY  TCP4 192.0.2.7 10.0.0.1 1 2",
                "PROXY TCP4 192.0.2.7 10.0.0.1 1",
                "PROXY TCP4 192.0.2.7 10.0.0.1 1 2 3",
                "PROXY TCP4 192.0.2.7 10.0.0.1 1 2 ",
                "PROXY TCP4 192.0.2.7\t10.0.0.1 1 2",
                "PROXY TCP4 192.0.2.256 10.0.0.1 1 2",
                "PROXY TCP4 192.0.2 10.0.0.1 1 2",
                "PROXY TCP4 localhost 10.0.0.1 1 2",
                "PROXY TCP4 2001:db8::7 2001:db8::1 1 2",
                "PROXY TCP4 192.0.2.7 2001:db8::1 1 2",
                "PROXY TCP6 192.0.2.7 10.0.0.1 1 2",
                "PROXY TCP6 2001:db8::7%eth0 2001:db8::1 1 2",
                "PROXY TCP6 [2001:db8::7] 2001:db8::1 1 2",
                "PROXY TCP4 192.0.2.7 10.0.0.1 65536 2",
                "PROXY TCP4 192.0.2.7 10.0.0.1 1 99999999999",
                "PROXY TCP4 192.0.2.7 10.0.0.1 -1 2",
                "PROXY TCP4 192.0.2.7 10.0.0.1 +1 2",
                "PROXY TCP4 192.0.2.7 10.0.0.1 01 2",
            })
    void refusesAMalformedLine(String line) {
        ProxyHeader header = new ProxyHeader();

        assertThat(header.read(Unpooled.wrappedBuffer(ProxyHeaders.version1(line))))
                .isEqualTo(Progress.MALFORMED);
        assertThat(header.problem()).contains("(expected: ");
        assertThat(header.source()).isNull();
    }

    @Test
    void refusesALineWithoutCarriageReturn() {
        byte[] line = "PROXY TCP4 192.0.2.7 10.0.0.1 1 2\n".getBytes(StandardCharsets.US_ASCII);

        assertThat(new ProxyHeader().read(Unpooled.wrappedBuffer(line))).isEqualTo(Progress.MALFORMED);
    }

    @Test
    void refusesALineOfMoreThan107Bytes() {
        String longest = "PROXY UNKNOWN " + "x".repeat(91);
        assertThat(ProxyHeaders.version1(longest)).hasSize(107);

        assertThat(new ProxyHeader().read(Unpooled.wrappedBuffer(ProxyHeaders.version1(longest))))
                .isEqualTo(Progress.COMPLETE);
        assertThat(new ProxyHeader().read(Unpooled.wrappedBuffer(ProxyHeaders.version1(longest + "x"))))
                .isEqualTo(Progress.MALFORMED);
    }

    static Stream<byte[]> malformedBinaries() {
        return Stream.of(
                ProxyHeaders.version2(0x11, 0x11, new byte[12]),
                ProxyHeaders.version2(0x31, 0x11, new byte[12]),
                ProxyHeaders.version2(0x22, 0x11, new byte[12]),
                ProxyHeaders.version2(ProxyHeaders.PROXY, 0x41, new byte[12]),
                ProxyHeaders.version2(ProxyHeaders.PROXY, 0x13, new byte[12]),
                ProxyHeaders.version2(ProxyHeaders.PROXY, 0x11, new byte[11]),
                ProxyHeaders.version2(ProxyHeaders.PROXY, 0x21, new byte[12]),
                ProxyHeaders.version2(ProxyHeaders.PROXY, 0x31, new byte[215]));
    }

    @ParameterizedTest
    @MethodSource("malformedBinaries")
    void refusesAMalformedBinary(byte[] binary) {
        ProxyHeader header = new ProxyHeader();

        assertThat(header.read(Unpooled.wrappedBuffer(binary)))
                .as(HexFormat.of().formatHex(binary))
                .isEqualTo(Progress.MALFORMED);
        assertThat(header.problem()).contains("(expected: ");
    }

    /** The beginnings of TLS, HTTP/1, HTTP/2, and of requests that share bytes with a header. */
    @ParameterizedTest
    @ValueSource(
            strings = {"\u0016\u0003\u0001", "GET / HTTP/1.1", "PRI * HTTP/2.0", "PROXIES", "PROXY\t", "\r\n\r\nGET"})
    void leavesOtherBytesAlone(String text) {
        byte[] other = text.getBytes(StandardCharsets.ISO_8859_1);
        ProxyHeader header = new ProxyHeader();
        ByteBuf in = Unpooled.wrappedBuffer(other);

        assertThat(header.read(in)).isEqualTo(Progress.ABSENT);

        byte[] rest = new byte[in.readableBytes()];
        in.readBytes(rest);
        byte[] taken = header.taken();
        byte[] all = Arrays.copyOf(taken, taken.length + rest.length);
        System.arraycopy(rest, 0, all, taken.length, rest.length);
        assertThat(all).isEqualTo(other);
    }
}
