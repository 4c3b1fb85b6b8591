package io.weir.wiring;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.weir.edge.RawHttp2Client;
import io.weir.outcome.Reason;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestTls;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.X509Certificate;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** One port with certificates for several hosts, and a port without TLS that redirects to it. */
@ExtendWith(Leaks.class)
@Tag("tls")
class VirtualHostsIT {

    private static final String BALANCER = "127.0.0.3";

    @TempDir
    private static Path directory;

    private static final AtomicInteger atB = new AtomicInteger();

    private static TestBackend a;
    private static TestBackend b;
    private static TestGateway gateway;

    @BeforeAll
    static void start() throws Exception {
        write("main", certificate("main.test"));
        write("a", certificate("a.test", "both.test"));
        write("b", certificate("b.test"));
        write("both", certificate("both.test"));
        a = TestBackend.start((request, conversation) -> conversation.answer(200, "a"));
        b = TestBackend.start((request, conversation) -> {
            atB.incrementAndGet();
            conversation.answer(200, "b");
        });
        gateway = start("");
    }

    private static TestGateway start(String lines) {
        return TestGateway.start(lines + """
                weir:
                  edge: { redirect-port: 0, trusted-proxies: [ %2$s ], head-timeout: 10s }
                  backends:
                    a: { uri: "%3$s", deadline: 20s }
                    b: { uri: "%4$s", deadline: 20s }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: a, uri: "backend://a", predicates: [ "Host=a.test,both.test" ] }
                  - { id: b, uri: "backend://b", predicates: [ "Host=b.test,b.test:*" ] }
                server.ssl:
                  bundle: main
                  server-name-bundles:
                    - { server-name: a.test, bundle: a }
                    - { server-name: b.test, bundle: b }
                    - { server-name: both.test, bundle: both }
                spring.ssl.bundle:
                  watch.file.quiet-period: 150ms
                  pem:
                    main: { keystore: { certificate: "file:%1$s/main.crt", private-key: "file:%1$s/main.key" } }
                    a:
                      keystore: { certificate: "file:%1$s/a.crt", private-key: "file:%1$s/a.key" }
                      reload-on-update: true
                    b: { keystore: { certificate: "file:%1$s/b.crt", private-key: "file:%1$s/b.key" } }
                    both: { keystore: { certificate: "file:%1$s/both.crt", private-key: "file:%1$s/both.key" } }
                """.formatted(directory, BALANCER, a.uri(), b.uri()));
    }

    @AfterAll
    static void stop() throws IOException {
        try (TestCaller idle = TestCaller.to(redirectPort())) {
            idle.send("GET / HTTP/1.1\r\n");
            gateway.close();
            assertThat(idle.in().read()).as("closed by the drain").isEqualTo(-1);
        }
        a.close();
        b.close();
    }

    private static X509Bundle certificate(String... names) throws Exception {
        CertificateBuilder builder =
                new CertificateBuilder().subject("CN=" + names[0]).setIsCertificateAuthority(true);
        for (String name : names) {
            builder.addSanDnsName(name);
        }
        return builder.buildSelfSigned();
    }

    private static void write(String name, X509Bundle bundle) throws IOException {
        replace(name + ".crt", bundle.getCertificatePathPEM());
        replace(name + ".key", bundle.getPrivateKeyPEM());
    }

    private static void replace(String name, String content) throws IOException {
        Path next = Files.writeString(directory.resolve(name + ".next"), content);
        Files.move(next, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static SSLSocket connect(String name, String... protocols) throws IOException {
        return TestTls.named(new Socket(InetAddress.getLoopbackAddress(), gateway.port()), name, protocols);
    }

    private static TestCaller caller(String name) throws IOException {
        return TestCaller.over(connect(name, "http/1.1"));
    }

    private static TestCaller.Answer ask(TestCaller caller, String host, String path) throws IOException {
        caller.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        return caller.answer();
    }

    private static X509Certificate shown(String name) throws IOException {
        try (SSLSocket socket = connect(name)) {
            return (X509Certificate) socket.getSession().getPeerCertificates()[0];
        }
    }

    private static int redirectPort() {
        return gateway.bean(RedirectServer.class).port();
    }

    // ---------------------------------------------------------------- virtual hosts

    @Test
    void choosesCertificateAndRouteByTheHostsName() throws IOException {
        assertThat(shown("a.test").getSubjectX500Principal().getName()).isEqualTo("CN=a.test");
        assertThat(shown("b.test").getSubjectX500Principal().getName()).isEqualTo("CN=b.test");
        assertThat(shown("other.test").getSubjectX500Principal().getName()).isEqualTo("CN=main.test");
        assertThat(shown("127.0.0.1").getSubjectX500Principal().getName()).isEqualTo("CN=main.test");
        try (TestCaller caller = caller("a.test")) {
            assertThat(ask(caller, "a.test", "/1").text()).isEqualTo("a");
            assertThat(ask(caller, "A.TEST:443", "/2").text())
                    .as("a name has no case")
                    .isEqualTo("a");
            assertThat(ask(caller, "a.test:80", "/2").text())
                    .as("the pattern names no port")
                    .isEqualTo("a");
        }
        try (TestCaller caller = caller("b.test")) {
            assertThat(ask(caller, "b.test:8443", "/3").text()).isEqualTo("b");
        }
    }

    @Test
    void refusesARequestForAHostWithAnotherCertificate() throws IOException {
        int before = atB.get();
        try (TestCaller caller = caller("a.test")) {
            TestCaller.Answer refused = ask(caller, "b.test", "/misdirected");

            assertRefused(refused, Reason.MISDIRECTED);
            assertThat(ask(caller, "a.test", "/4").text())
                    .as("the connection stays")
                    .isEqualTo("a");
            TestCaller.Answer byTarget = ask(caller, "a.test", "https://b.test/misdirected-too");
            assertRefused(byTarget, Reason.MISDIRECTED);
        }
        assertThat(atB.get()).isEqualTo(before);
        JsonNode line = gateway.logged("/misdirected");
        assertThat(line.path("outcome").asString()).isEqualTo("misdirected");
        assertThat(line.path("status").asInt()).isEqualTo(421);
    }

    @Test
    void theManagementPortHasNoTlsUnlessItsOwn() throws Exception {
        assertThat(TestCaller.get(gateway.managementPort(), "/actuator/health").status())
                .isEqualTo(200);
    }

    @Test
    void refusesARequestForAnotherHostWithoutHttp2Too() throws Exception {
        try (TestGateway old = start("server.http2.enabled: false\n");
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), old.port());
                TestCaller caller = TestCaller.over(TestTls.named(socket, "a.test", "http/1.1"))) {
            assertThat(ask(caller, "b.test", "/1").status()).isEqualTo(421);
            assertThat(ask(caller, "a.test", "/1").text()).isEqualTo("a");
        }
    }

    @Test
    void servesHostsThatTheCertificateCovers() throws IOException {
        try (TestCaller caller = caller("a.test")) {
            assertThat(ask(caller, "both.test", "/5").text()).isEqualTo("a");
        }
        try (TestCaller caller = caller("both.test")) {
            assertRefused(ask(caller, "a.test", "/6"), Reason.MISDIRECTED);
        }
    }

    @Test
    void servesEveryHostWithoutSniAndForTrustedProxies() throws IOException {
        try (TestCaller caller = caller("127.0.0.1")) {
            assertThat(ask(caller, "b.test", "/7").text()).isEqualTo("b");
        }
        Socket socket = new Socket();
        socket.bind(new InetSocketAddress(BALANCER, 0));
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), gateway.port()));
        try (TestCaller balancer = TestCaller.over(TestTls.named(socket, "main.test", "http/1.1"))) {
            assertThat(ask(balancer, "b.test", "/8").text()).isEqualTo("b");
        }
    }

    @Test
    void refusesStreamsOfACoalescedConnectionOneByOne() throws IOException {
        try (RawHttp2Client caller = RawHttp2Client.over(connect("a.test", "h2"))) {
            caller.headers(1, RawHttp2Client.get("/9").authority("both.test"), true);
            assertThat(caller.next()).isEqualTo("headers 1 200");
            assertThat(caller.next()).startsWith("data 1 a");
            caller.headers(3, RawHttp2Client.get("/10").authority("b.test"), true);
            String head = caller.next();
            while (!head.startsWith("headers 3")) {
                head = caller.next();
            }
            assertThat(head).isEqualTo("headers 3 421");
            assertThat(caller.lastHeaders().get("proxy-status")).asString().contains("misdirected");
            caller.headers(5, RawHttp2Client.get("/11").authority("a.test"), true);
            String after = caller.next();
            while (!after.startsWith("headers 5")) {
                after = caller.next();
            }
            assertThat(after).isEqualTo("headers 5 200");
        }
    }

    @Test
    void rotatesTheCertificateOfOneHost() throws Exception {
        BigInteger ofB = shown("b.test").getSerialNumber();
        X509Bundle next = certificate("a.test", "both.test");

        write("a", next);

        await().until(() ->
                shown("a.test").getSerialNumber().equals(next.getCertificate().getSerialNumber()));
        assertThat(shown("b.test").getSerialNumber()).isEqualTo(ofB);
        servesHostsThatTheCertificateCovers();
    }

    // ---------------------------------------------------------------- ALPN

    @Test
    void refusesTlsClientsOfOtherProtocols() throws IOException {
        assertThatThrownBy(() -> connect("a.test", "imap"))
                .isInstanceOf(SSLException.class)
                .hasMessageContaining("no_application_protocol");
        try (SSLSocket known = connect("a.test", "imap", "http/1.1")) {
            assertThat(known.getApplicationProtocol()).isEqualTo("http/1.1");
        }
        try (TestCaller without = TestCaller.over(connect("a.test"))) {
            assertThat(ask(without, "a.test", "/12").status()).isEqualTo(200);
        }
    }

    // ---------------------------------------------------------------- the redirect to https

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            GET /x?y=1&&z HTTP/1.1          | a.test           | a.test     | /x?y=1&&z
            POST /x HTTP/1.1                | a.test:80        | a.test     | /x
            GET / HTTP/1.0                  | [2001:db8::1]:80 | [2001:db8::1] | /
            GET //evil.test/%2e HTTP/1.1    | a.test           | a.test     | //evil.test/%2e
            GET /%0d%0aX:%20y HTTP/1.1      | a.test           | 400        |
            GET http://b.test/x?y HTTP/1.1  | a.test           | b.test     | /x?y
            GET http://b.test?y HTTP/1.1    | a.test           | b.test     | /?y
            GET /../x HTTP/1.1              | a.test           | 400        |
            GET /x HTTP/1.1                 | a.test/evil      | 400        |
            GET /x HTTP/1.1                 | u@evil.test      | 400        |
            GET /x HTTP/1.1                 | evil.test\\a.test | 400        |
            GET /x HTTP/1.1                 | a.test,evil.test | 400        |
            GET /x HTTP/1.1                 | a.test:99999     | 400        |
            GET /x HTTP/1.1                 | ''               | 400        |
            GET http://u@evil.test/ HTTP/1.1 | a.test          | 400        |
            OPTIONS * HTTP/1.1              | a.test           | 400        |
            """)
    void redirectsToTheSameTargetOnHttps(String line, String host, String expectedHost, @Nullable String target)
            throws IOException {
        try (TestCaller caller = TestCaller.to(redirectPort())) {
            caller.send(line + "\r\nHost: " + host + "\r\nContent-Length: 0\r\n\r\n");
            TestCaller.Answer answer = caller.answer();

            if ("400".equals(expectedHost)) {
                assertRefused(answer, Reason.BAD_REQUEST);
                assertThat(answer.header("location")).isNull();
            } else {
                assertThat(answer.status()).isEqualTo(308);
                assertThat(answer.header("location"))
                        .isEqualTo("https://" + expectedHost + ":" + gateway.port() + target);
                assertThat(answer.header("cache-control")).isEqualTo("max-age=3600");
            }
            assertThat(answer.header("strict-transport-security")).isNull();
            assertThat(caller.in().read()).as("the last answer").isEqualTo(-1);
        }
    }

    /** The balancer ends TLS: a redirect to https would come here again. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            /loop1 | 127.0.0.3 | X-Forwarded-Proto: https             | 421
            /loop2 | 127.0.0.3 | X-Forwarded-Proto: HTTPS, http       | 421
            /loop3 | 127.0.0.3 | Forwarded: for=192.0.2.1;proto=https | 421
            /loop4 | 127.0.0.3 | X-Forwarded-Proto: http              | 308
            /loop5 | 127.0.0.3 | X-Forwarded-For: 192.0.2.1           | 308
            /loop6 | 127.0.0.1 | X-Forwarded-Proto: https             | 308
            /loop7 | 127.0.0.1 | Forwarded: for=192.0.2.1;proto=https | 308
            """)
    void refusesToRedirectRequestsOfHttpsThatATrustedProxyForwards(
            String path, String address, String field, int status) throws IOException {
        try (TestCaller caller = TestCaller.from(address, redirectPort())) {
            TestCaller.Answer answer = caller.request("GET", path, field);

            assertThat(answer.status()).isEqualTo(status);
            if (status == 421) {
                assertRefused(answer, Reason.MISDIRECTED);
                assertThat(answer.header("location")).isNull();
                assertThat(answer.problem().path("detail").asString()).contains("a proxy that ends TLS");
                assertThat(gateway.logged(path).path("outcome").asString()).isEqualTo("misdirected");
            } else {
                assertThat(answer.header("location")).isEqualTo("https://weir.test:" + gateway.port() + path);
            }
        }
    }

    @Test
    void recordsRedirectsLikeOtherAnswersOfItsOwn() throws IOException {
        TestCaller.Answer answer = TestCaller.get(redirectPort(), "/recorded");

        assertThat(answer.status()).isEqualTo(308);
        JsonNode line = gateway.logged("/recorded");
        assertThat(line.path("status").asInt()).as("%s", line).isEqualTo(308);
        assertThat(line.path("request_id").asString()).isEqualTo(answer.header("x-request-id"));
        gateway.assertMetered("none", line.path("outcome").asString());
    }

    @Test
    void readsAndDropsTheBodyOfARedirectedRequest() throws IOException {
        try (TestCaller caller = TestCaller.to(redirectPort())) {
            caller.send("PUT /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 30000\r\n\r\n" + "x".repeat(30_000));

            assertThat(caller.answer().status()).isEqualTo(308);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET /x HTTP/1.1\r\n\r\n",
                "GET /x HTTP/1.0\r\n\r\n",
                "GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"
            })
    void refusesRequestsWithoutOneHost(String request) throws IOException {
        try (TestCaller caller = TestCaller.to(redirectPort())) {
            caller.send(request);

            assertRefused(caller.answer(), Reason.BAD_REQUEST);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\r\n\r\n"})
    void doesNotRedirectOtherProtocols(String bytes) throws IOException {
        try (TestCaller caller = TestCaller.to(redirectPort())) {
            caller.send(bytes);

            String answered = new String(caller.in().readAllBytes(), java.nio.charset.StandardCharsets.ISO_8859_1);
            // Only the first line has a status: a random request id may contain any three digits.
            assertThat(answered).doesNotStartWith("HTTP/1.1 308").doesNotContainIgnoringCase("\r\nlocation:");
        }
    }

    @Test
    void doesNotUpgradeToHttp2() throws IOException {
        TestCaller.Answer answer = TestCaller.get(
                redirectPort(),
                "/x",
                "Connection: Upgrade, HTTP2-Settings",
                "Upgrade: h2c",
                "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA");

        assertThat(answer.status()).isEqualTo(308);
    }
}
