package io.weir.edge;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import io.weir.testing.TestTls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The balancer is 127.0.0.1; any other address of the loopback network is no trusted proxy. */
class ProxyProtocolIT {

    private static final String BALANCER = "127.0.0.1";
    private static final String STRANGER = "127.0.0.2";
    private static final String BACKEND = "orders";
    private static final byte[] CLIENT = ProxyHeaders.version2("192.0.2.7", 40);
    private static final byte[] NO_HEADER = {};

    private static TestBackend backend;
    private static TestGateway required;
    private static TestGateway secured;
    private static TestGateway optional;

    private final List<Socket> open = new ArrayList<>();

    /** How a connection is encrypted. */
    enum Transport {
        CLEAR,
        TLS;

        TestGateway gateway() {
            return this == CLEAR ? required : secured;
        }
    }

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        backend.behave((request, conversation) -> {
            conversation.drain(request);
            conversation.answer(200, "for " + request.header("x-forwarded-for") + ", " + request.header("forwarded"));
        });
        required = start("required", "server.http2.enabled: true");
        secured = start("required", "server.http2.enabled: true\n" + TestTls.serverLines());
        optional = start("optional", "server.http2.enabled: true");
    }

    private static TestGateway start(String mode, String lines) {
        return TestGateway.setup()
                .weir("edge: { proxy-protocol: " + mode + ", trusted-proxies: [" + BALANCER
                        + ", 198.51.100.0/24], head-timeout: 2s, max-connections-per-client: 3 }")
                .backend(BACKEND, backend.uri())
                .route(BACKEND, BACKEND)
                .line("  - { id: office, uri: \"backend://orders\", predicates: [\"Path=/office/**\","
                        + " \"RemoteAddr=192.0.2.7\"] }")
                .line(lines)
                .start();
    }

    @AfterAll
    static void stop() {
        required.close();
        secured.close();
        optional.close();
        backend.close();
    }

    @AfterEach
    void leavesNothingBehind() throws IOException {
        for (Socket socket : open) {
            socket.close();
        }
        for (TestGateway gateway : List.of(required, secured, optional)) {
            await().until(() -> gateway.bean(ClientLimits.class).clients() == 0);
            gateway.assertNothingHeld();
        }
    }

    private Socket connect(TestGateway gateway, String from, byte[] header) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), gateway.port(), InetAddress.getByName(from), 0);
        open.add(socket);
        socket.getOutputStream().write(header);
        return socket;
    }

    private RawHttp1Client http1(Transport transport, byte[] header) throws IOException {
        Socket socket = connect(transport.gateway(), BALANCER, header);
        return new RawHttp1Client(transport == Transport.TLS ? TestTls.over(socket, "http/1.1") : socket);
    }

    private RawHttp2Client http2(Transport transport, byte[] header) throws IOException {
        Socket socket = connect(transport.gateway(), BALANCER, header);
        return new RawHttp2Client(new RawHttp1Client(transport == Transport.TLS ? TestTls.over(socket, "h2") : socket));
    }

    private static RawHttp1Client.Answer get(RawHttp1Client client, String path, String... fields) throws IOException {
        client.send("GET " + path + " HTTP/1.1\r\nHost: weir.test\r\n" + String.join("", fields) + "\r\n");
        return client.answer();
    }

    private static @Nullable String forwardedFor(RawHttp1Client.Answer answer) {
        assertThat(answer.status()).as(answer.body()).isEqualTo(200);
        return answer.body().substring("for ".length(), answer.body().indexOf(", "));
    }

    // ---------------------------------------------------------------- believed

    @ParameterizedTest
    @EnumSource
    void usesTheHeadersAddressForBackendsAndLog(Transport transport) throws Exception {
        for (Door door : Door.values()) {
            String path = door.path(BACKEND, "address-" + transport);
            RawHttp1Client client = http1(transport, CLIENT);

            assertThat(forwardedFor(get(client, path, "X-Forwarded-For: 203.0.113.9\r\n")))
                    .as("a caller's own field is not believed")
                    .isEqualTo("192.0.2.7");
            assertThat(transport.gateway().logged(path).path("client").asString())
                    .isEqualTo("192.0.2.7");
            assertThat(get(client, path + "/2").body()).contains("for=192.0.2.7;");
        }
    }

    @ParameterizedTest
    @EnumSource
    void usesTheHeadersAddressForEachStreamOfHttp2(Transport transport) throws Exception {
        String path = Door.COMPILED.path(BACKEND, "stream-" + transport);
        RawHttp2Client client = http2(transport, CLIENT);
        for (int stream = 1; stream < 5; stream += 2) {
            client.headers(stream, RawHttp2Client.get(path + stream), true);
            assertThat(client.next()).isEqualTo("headers " + stream + " 200");
            assertThat(client.next()).startsWith("data " + stream);
            assertThat(transport.gateway().logged(path + stream).path("client").asString())
                    .isEqualTo("192.0.2.7");
        }
    }

    @ParameterizedTest
    @EnumSource
    void matchesTheHeadersAddress(Transport transport) throws Exception {
        byte[] other = ProxyHeaders.version1("PROXY TCP4 192.0.2.8 10.0.0.1 1 2");
        byte[] unknown = ProxyHeaders.version1("PROXY UNKNOWN");
        assertThat(get(http1(transport, CLIENT), "/office/1").status()).isEqualTo(200);
        assertThat(get(http1(transport, other), "/office/1").status()).isEqualTo(404);
        assertThat(get(http1(transport, unknown), "/office/1").status()).isEqualTo(404);
    }

    @ParameterizedTest
    @EnumSource
    void believesForwardedFieldsOfTheHeadersAddressIfItIsTrusted(Transport transport) throws Exception {
        byte[] trusted = ProxyHeaders.version1("PROXY TCP4 198.51.100.3 10.0.0.1 1 2");
        String path = Door.COMPILED.path(BACKEND, "trusted-" + transport);

        assertThat(get(http1(transport, trusted), path, "X-Forwarded-For: 203.0.113.9\r\n")
                        .body())
                .startsWith("for 203.0.113.9, 198.51.100.3");
        assertThat(transport.gateway().logged(path).path("client").asString()).isEqualTo("203.0.113.9");
    }

    @ParameterizedTest
    @EnumSource
    void usesTheBalancersAddressForItsOwnConnections(Transport transport) throws Exception {
        byte[] local = ProxyHeaders.version2(ProxyHeaders.LOCAL, 0, new byte[0]);

        assertThat(forwardedFor(get(http1(transport, local), Door.COMPILED.path(BACKEND, "local"))))
                .isEqualTo(BALANCER);
    }

    /** The balancer knows no address: neither its own nor one that the caller claims is the caller's. */
    @ParameterizedTest
    @EnumSource
    void believesNothingOfAnUnknownCaller(Transport transport) throws Exception {
        List<byte[]> unknown = List.of(
                ProxyHeaders.version1("PROXY UNKNOWN"),
                ProxyHeaders.version2(ProxyHeaders.PROXY, 0, new byte[0]),
                ProxyHeaders.version2(ProxyHeaders.PROXY, 0x31, new byte[216]));
        for (Door door : Door.values()) {
            for (int i = 0; i < unknown.size(); i++) {
                String path = door.path(BACKEND, "unknown-" + transport + i);
                assertThat(forwardedFor(
                                get(http1(transport, unknown.get(i)), path, "X-Forwarded-For: 203.0.113.9\r\n")))
                        .isEqualTo("unknown");
                assertThat(transport.gateway().logged(path).path("client").asString())
                        .isEqualTo("unknown");
            }
            leavesNothingBehind();
        }
    }

    @ParameterizedTest
    @EnumSource
    void readsAHeaderThatArrivesInPieces(Transport transport) throws Exception {
        Socket socket = connect(transport.gateway(), BALANCER, NO_HEADER);
        socket.setTcpNoDelay(true);
        for (byte one : CLIENT) {
            socket.getOutputStream().write(one);
        }
        RawHttp1Client client =
                new RawHttp1Client(transport == Transport.TLS ? TestTls.over(socket, "http/1.1") : socket);

        assertThat(forwardedFor(get(client, Door.COMPILED.path(BACKEND, "pieces"))))
                .isEqualTo("192.0.2.7");
    }

    @Test
    void readsARequestThatArrivesWithTheHeader() throws Exception {
        Socket socket = connect(required, BALANCER, NO_HEADER);
        RawHttp1Client client = new RawHttp1Client(socket);
        client.send("PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\nGET " + Door.COMPILED.path(BACKEND, "together")
                + " HTTP/1.1\r\nHost: weir.test\r\n\r\n");

        assertThat(forwardedFor(client.answer())).isEqualTo("192.0.2.7");
    }

    @ParameterizedTest
    @EnumSource
    void countsConnectionsByTheHeadersAddress(Transport transport) throws Exception {
        ClientLimits limits = transport.gateway().bean(ClientLimits.class);
        long before = limits.rejectedConnections();
        for (int i = 0; i < 3; i++) {
            assertThat(get(http1(transport, CLIENT), "/nowhere").status()).isEqualTo(404);
        }

        Socket fourth = connect(transport.gateway(), BALANCER, CLIENT);
        assertThat(fourth.getInputStream().read()).isEqualTo(-1);

        assertThat(limits.rejectedConnections()).isEqualTo(before + 1);
        byte[] other = ProxyHeaders.version2("192.0.2.8", 0);
        assertThat(get(http1(transport, other), "/nowhere").status()).isEqualTo(404);
        // The balancer's own connections are not counted.
        byte[] local = ProxyHeaders.version2(ProxyHeaders.LOCAL, 0, new byte[0]);
        for (int i = 0; i < 4; i++) {
            assertThat(get(http1(transport, local), "/nowhere").status()).isEqualTo(404);
        }
    }

    // ---------------------------------------------------------------- refused

    /** Asserts that the gateway closes the connection, and sends nothing. */
    private static void assertClosedWithoutAnswer(Socket socket) throws IOException {
        socket.setSoTimeout((int) PATIENCE.toMillis());
        try {
            assertThat(socket.getInputStream().readAllBytes()).isEmpty();
        } catch (SocketException reset) {
            // Closed with bytes unread.
        }
    }

    private static long refused(TestGateway gateway, String outcome) {
        return gateway.log(outcome).size();
    }

    @ParameterizedTest
    @EnumSource
    void closesABalancersConnectionThatBeginsWithoutAHeader(Transport transport) throws Exception {
        TestGateway gateway = transport.gateway();
        List<byte[]> bad = List.of(
                "GET /nowhere HTTP/1.1\r\nHost: weir.test\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
                new byte[] {0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5},
                ProxyHeaders.version1("PROXY TCP4 192.0.2.7 10.0.0.1 1"),
                ProxyHeaders.version2(ProxyHeaders.PROXY, 0x11, new byte[4]),
                "PROXY ".concat("x".repeat(200)).getBytes(StandardCharsets.US_ASCII));
        long before = refused(gateway, "bad-request");
        for (byte[] bytes : bad) {
            assertClosedWithoutAnswer(connect(gateway, BALANCER, bytes));
        }
        await().until(() -> refused(gateway, "bad-request") == before + bad.size());
    }

    @ParameterizedTest
    @EnumSource
    void closesConnectionsOfOtherPeersIfAHeaderIsRequired(Transport transport) throws Exception {
        assertClosedWithoutAnswer(connect(transport.gateway(), STRANGER, NO_HEADER));
        try {
            assertClosedWithoutAnswer(connect(transport.gateway(), STRANGER, CLIENT));
        } catch (SocketException reset) {
            // While the header was written.
        }
    }

    @ParameterizedTest
    @EnumSource
    void closesAConnectionWhoseHeaderCrawls(Transport transport) throws Exception {
        TestGateway gateway = transport.gateway();
        long before = refused(gateway, "client-too-slow");

        // All three at once: each waits for the time-out.
        List<Socket> tooSlow = List.of(
                connect(gateway, BALANCER, new byte[] {'P', 'R', 'O'}),
                connect(gateway, BALANCER, Arrays.copyOf(CLIENT, CLIENT.length - 1)));
        Socket silent = connect(gateway, BALANCER, NO_HEADER);

        for (Socket socket : tooSlow) {
            assertClosedWithoutAnswer(socket);
        }
        assertClosedWithoutAnswer(silent);
        await().until(() -> refused(gateway, "client-too-slow") >= before + 2);
        // A connection without any byte is none of a caller.
        assertThat(refused(gateway, "client-too-slow")).isEqualTo(before + 2);
    }

    // ---------------------------------------------------------------- optional

    @Test
    void takesConnectionsWithAndWithoutAHeaderIfItIsOptional() throws Exception {
        String path = Door.COMPILED.path(BACKEND, "optional");

        assertThat(forwardedFor(get(new RawHttp1Client(connect(optional, BALANCER, CLIENT)), path)))
                .isEqualTo("192.0.2.7");
        assertThat(get(
                                new RawHttp1Client(connect(optional, BALANCER, NO_HEADER)),
                                path,
                                "X-Forwarded-For: 203.0.113.9\r\n")
                        .body())
                .startsWith("for 203.0.113.9, 127.0.0.1");
        assertThat(forwardedFor(get(new RawHttp1Client(connect(optional, STRANGER, NO_HEADER)), path)))
                .isEqualTo(STRANGER);
        RawHttp2Client http2 = new RawHttp2Client(new RawHttp1Client(connect(optional, BALANCER, NO_HEADER)));
        http2.headers(1, RawHttp2Client.get(path), true);
        assertThat(http2.next()).isEqualTo("headers 1 200");
    }

    @Test
    void takesAHeaderOfAnotherPeerForAMalformedRequest() throws Exception {
        long before = refused(optional, "bad-request");

        RawHttp1Client version1 = new RawHttp1Client(connect(optional, STRANGER, NO_HEADER));
        version1.send("PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\nGET /nowhere HTTP/1.1\r\nHost: weir.test\r\n\r\n");
        assertThat(version1.rest()).doesNotContain(" 200 ").doesNotContain(" 404 ");
        Socket version2 = connect(optional, STRANGER, CLIENT);
        assertThat(new RawHttp1Client(version2).rest()).doesNotContain(" 200 ").doesNotContain(" 404 ");

        await().until(() -> refused(optional, "bad-request") == before + 2);
        assertThat(optional.log("192.0.2.7\""))
                .noneMatch(line -> "192.0.2.7".equals(line.path("client").asString())
                        && line.path("status").asInt() == 404);
    }
}
