package io.weir.management;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.edge.RawHttp2Client;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestTls;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Connections to the management port cannot take what others need: their time and number are limited. */
class ManagementConnectionsIT {

    private static final String TOKEN = "0123456789abcdef0123";
    private static final String HALF_HEAD = "GET /actuator/weir HTTP/1.1\r\nHost: weir.test\r\nX-Half: ";
    /** Each address may have 256 of the 512 connections. */
    private static final int PER_CLIENT = 256;

    private static TestBackend backend;
    private static TestGateway clear;
    private static TestGateway tls;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        clear = setup().weir("management: { token: " + TOKEN + " }").start();
        tls = setup().line(TestTls.serverLines() + "management.server.ssl.bundle: edge")
                .start();
    }

    private static TestGateway.Setup setup() {
        return TestGateway.setup().backend("orders", backend.uri()).route("orders", "orders");
    }

    @AfterAll
    static void stop() {
        clear.close();
        tls.close();
        backend.close();
    }

    @Test
    void halfHeadsOfOneAddressAreLimitedAndEndedAndKeepNobodyElseAway() throws IOException {
        int port = clear.managementPort();
        List<TestCaller> halfHeads = new ArrayList<>();
        try {
            for (int i = 0; i < 2 * PER_CLIENT; i++) {
                TestCaller caller = TestCaller.from("127.0.0.2", port);
                halfHeads.add(caller);
                try {
                    caller.send(HALF_HEAD);
                } catch (IOException closedAtOnce) {
                    // Over the limit.
                }
            }
            try (TestCaller other = TestCaller.from("127.0.0.3", port)) {
                assertThat(other.request("GET", "/actuator/health/readiness").status())
                        .isEqualTo(200);
                assertThat(other.request("GET", "/actuator/weir", "Authorization: Bearer " + TOKEN)
                                .status())
                        .isEqualTo(200);
            }
            clear.assertNeighbourUnharmed();

            int timedOut = 0;
            for (TestCaller caller : halfHeads) {
                timedOut += endsWith408(caller) ? 1 : 0;
            }
            assertThat(timedOut).isBetween(PER_CLIENT, 2 * PER_CLIENT - 1);
            assertThat(TestCaller.get(port, "/actuator/health").status()).isEqualTo(200);
        } finally {
            for (TestCaller caller : halfHeads) {
                caller.close();
            }
        }
    }

    /** Whether a connection ends with 408; otherwise it ends without an answer. */
    private static boolean endsWith408(TestCaller caller) throws IOException {
        try {
            String answer = new String(caller.in().readAllBytes(), StandardCharsets.ISO_8859_1);
            assertThat(answer).matches("(?s)|HTTP/1\\.1 408 .*");
            return !answer.isEmpty();
        } catch (SocketTimeoutException e) {
            throw new AssertionError("open after " + PATIENCE, e);
        } catch (IOException reset) {
            return false;
        }
    }

    @Test
    void halfHeadsOverTlsAreEnded() throws IOException {
        try (TestCaller idle = TestCaller.over(TestTls.connect(tls.managementPort(), "http/1.1"));
                TestCaller handshake = TestCaller.to(tls.managementPort());
                RawHttp2Client other = RawHttp2Client.overTls(tls.managementPort())) {
            idle.send(HALF_HEAD);
            // The first byte of a TLS record.
            handshake.send("\u0016");
            other.headers(1, RawHttp2Client.get("/actuator/health").authority("localhost"), true);
            while (!other.next().startsWith("headers 1")) {
                // Settings.
            }
            assertThat(String.valueOf(other.lastHeaders().get(":status"))).isEqualTo("200");

            assertThat(idle.answer().status()).isEqualTo(408);
            handshake.isReset();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "HTTP/1.1, '', 400",
        "HTTP/1.1, 'Host:\r\n', 400",
        "HTTP/1.1, 'Host: localhost\r\nHost: localhost\r\n', 400",
        "HTTP/1.0, '', 400",
        "HTTP/1.0, 'Host:\r\n', 400",
        "HTTP/1.1, 'Host: rebound.example\r\n', 421",
        "HTTP/1.1, 'Host: localhost\r\n', 200",
        "HTTP/1.0, 'Host: localhost\r\n', 200"
    })
    void requiresAHost(String version, String host, int status) throws IOException {
        String authorization = "Authorization: Bearer " + TOKEN + "\r\n";
        assertThat(status("GET /actuator/weirconfig " + version + "\r\n" + host + authorization + "\r\n"))
                .isEqualTo(status);
    }

    /** Load balancers probe with HTTP/1.0. */
    @Test
    void answersAProbeOfHealthWithHttp10() throws IOException {
        assertThat(status("GET /actuator/health/readiness HTTP/1.0\r\n\r\n")).isEqualTo(200);
    }

    /** The page's files need no token; all that they show does. */
    @ParameterizedTest
    @ValueSource(strings = {"/dashboard", "/dashboard?x", "/dashboard?", "/dashboard/dashboard.js?x=1"})
    void servesThePageWithoutATokenWhateverItsQueryIs(String target) throws IOException {
        assertThat(TestCaller.get(clear.managementPort(), target).status()).isEqualTo(200);
        assertThat(TestCaller.get(clear.managementPort(), "/actuator/weir?/dashboard")
                        .status())
                .isEqualTo(401);
    }

    private static int status(String request) throws IOException {
        try (TestCaller caller = TestCaller.to(clear.managementPort())) {
            caller.send(request);
            return caller.readHead().status();
        }
    }
}
