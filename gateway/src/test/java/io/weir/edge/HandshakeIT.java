package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestTls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How the handshakes of callers end, as the metric counts them. */
@Tag("tls")
class HandshakeIT {

    /** More handshakes than an event loop begins at once. */
    private static final int CROWD = 200;

    private static TestBackend backend;
    private static TestGateway gateway;
    private static SSLContext trustful;
    private final double[] before = new double[Handshake.values().length];

    private static TestGateway start(String lines) {
        return TestGateway.setup()
                .backend("b", backend.uri())
                .route("b", "b")
                .line(TestTls.serverLines())
                .line(lines)
                .start();
    }

    @BeforeAll
    static void start() throws Exception {
        backend = TestBackend.healthy();
        gateway = start("");
        trustful = SSLContext.getInstance("TLS");
        trustful.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    private static double count(TestGateway counting, Handshake handshake) {
        return counting.bean(MeterRegistry.class)
                .get("weir.handshakes")
                .tag("result", handshake.word())
                .counter()
                .count();
    }

    private void note() {
        for (Handshake handshake : Handshake.values()) {
            before[handshake.ordinal()] = count(gateway, handshake);
        }
    }

    /** One handshake was counted since the note. */
    private void awaitOne(Handshake expected) {
        await().until(() -> count(gateway, expected) == before[expected.ordinal()] + 1);
        for (Handshake other : Handshake.values()) {
            if (other != expected) {
                assertThat(count(gateway, other)).as(other.word()).isEqualTo(before[other.ordinal()]);
            }
        }
    }

    private static SSLSocket socket(SSLContext tls) throws IOException {
        return (SSLSocket) tls.getSocketFactory().createSocket("127.0.0.1", gateway.port());
    }

    /** With an answer, before which a client of TLS 1.3 learns its ticket. */
    private static void call() throws IOException {
        try (TestCaller caller = TestCaller.over(socket(trustful))) {
            caller.send("GET " + Door.COMPILED.path("b", "1") + " HTTP/1.1\r\nHost: b\r\n\r\n");
            assertThat(caller.answer().status()).isEqualTo(200);
        }
    }

    @Test
    void aSecondConnectionResumesTheSession() throws Exception {
        note();
        call();
        awaitOne(Handshake.FULL);

        // The session's time is one of milliseconds.
        long now = System.currentTimeMillis();
        await().until(() -> System.currentTimeMillis() > now + 1);
        note();
        call();
        awaitOne(Handshake.RESUMED);
    }

    @Test
    void eachCallerOfACrowdGetsItsTurn() throws Exception {
        note();
        List<Future<?>> calls = new ArrayList<>();
        try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < CROWD; i++) {
                calls.add(callers.submit(() -> {
                    try (SSLSocket socket = socket(trustful)) {
                        socket.startHandshake();
                    }
                    return null;
                }));
            }
        }
        for (Future<?> each : calls) {
            each.get();
        }
        await().until(() -> count(gateway, Handshake.FULL)
                        - before[Handshake.FULL.ordinal()]
                        + count(gateway, Handshake.RESUMED)
                        - before[Handshake.RESUMED.ordinal()]
                == CROWD);
    }

    @Test
    void aCallerDoesNotTrustTheCertificate() throws Exception {
        note();
        try (SSLSocket distrustful = socket(SSLContext.getDefault())) {
            assertThatThrownBy(distrustful::startHandshake).isInstanceOf(IOException.class);
        }
        awaitOne(Handshake.ALERT);
    }

    @Test
    void aCallerSpeaksNoTls() throws Exception {
        note();
        try (TestCaller plain = TestCaller.to(gateway.port())) {
            plain.send("GET /b/1 HTTP/1.1\r\nHost: b\r\n\r\n");
            awaitOne(Handshake.NO_TLS);
        }
    }

    @Test
    void aCallerLeavesAfterItsFirstMessage() throws Exception {
        SSLEngine engine = trustful.createSSLEngine();
        engine.setUseClientMode(true);
        ByteBuffer hello = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
        engine.wrap(ByteBuffer.allocate(0), hello);
        note();
        try (Socket leaving = new Socket(InetAddress.getLoopbackAddress(), gateway.port())) {
            leaving.getOutputStream().write(hello.array(), 0, hello.position());
            assertThat(leaving.getInputStream().read()).isNotNegative();
        }
        awaitOne(Handshake.CALLER_LEFT);
    }

    @Test
    void aCallerHasOnlyOtherCipherSuites() throws Exception {
        note();
        try (SSLSocket old = socket(trustful)) {
            old.setEnabledProtocols(new String[] {"TLSv1.2"});
            old.setEnabledCipherSuites(new String[] {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"});
            assertThatThrownBy(old::startHandshake).isInstanceOf(IOException.class);
        }
        awaitOne(Handshake.NO_AGREEMENT);
    }

    @Test
    void aCallerHasOnlyOtherApplicationProtocols() {
        note();
        assertThatThrownBy(() -> TestTls.connect(gateway.port(), "spdy/3")).isInstanceOf(IOException.class);
        awaitOne(Handshake.NO_AGREEMENT);
    }

    @Test
    void aCallerHasNoCertificate() throws Exception {
        try (TestGateway asking = start("server.http2.enabled: false\nserver.ssl.client-auth: need\n"
                + "spring.ssl.bundle.pem.edge.truststore.certificate: |\n"
                + TestTls.authority().strip().indent(2))) {
            try (SSLSocket anonymous =
                    (SSLSocket) trustful.getSocketFactory().createSocket("127.0.0.1", asking.port())) {
                // Over TLS 1.3 the client's part of the handshake succeeds.
                assertThatThrownBy(() -> {
                            anonymous.getOutputStream().write("GET / HTTP/1.1\r\n".getBytes(StandardCharsets.US_ASCII));
                            anonymous.getInputStream().read();
                        })
                        .isInstanceOf(IOException.class);
            }
            await().until(() -> count(asking, Handshake.CERTIFICATE) == 1);
        }
    }
}
