package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.edge.RawHttp2Client;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestTls;
import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Every answer of the management port has a date (RFC 9110, 6.6.1). */
class ManagementDateIT {

    private static final String IMF_FIXDATE =
            "(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \\d\\d [A-Z][a-z]{2} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT";

    private static TestBackend backend;
    private static TestGateway clear;
    private static TestGateway tls;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        clear = setup().start();
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
    void datesItsAnswersOverHttp1() throws IOException {
        try (TestCaller caller = TestCaller.to(clear.managementPort())) {
            assertDates(caller);
        }
        assertMalformedIsDated(TestCaller.to(clear.managementPort()));
    }

    @Test
    void datesItsAnswersOverTls() throws IOException {
        try (TestCaller caller = TestCaller.over(TestTls.connect(tls.managementPort(), "http/1.1"))) {
            assertDates(caller);
        }
        assertMalformedIsDated(TestCaller.over(TestTls.connect(tls.managementPort(), "http/1.1")));
    }

    @Test
    void datesItsAnswersOverHttp2() throws IOException {
        try (RawHttp2Client client = RawHttp2Client.overTls(tls.managementPort())) {
            int stream = 1;
            for (String path : new String[] {"/actuator/health", "/actuator/weirstream", "/nothing"}) {
                client.headers(stream, RawHttp2Client.get(path).authority("localhost"), true);
                while (!client.next().startsWith("headers " + stream)) {
                    // The previous answer's body.
                }
                assertThat(String.valueOf(client.lastHeaders().get("date")))
                        .as(path)
                        .matches(IMF_FIXDATE);
                stream += 2;
            }
        }
    }

    private static void assertDates(TestCaller caller) throws IOException {
        for (String path : new String[] {
            "/actuator/health", "/actuator/weir", "/actuator/prometheus", "/dashboard", "/dashboard/table.js", "/none"
        }) {
            assertThat(caller.request("GET", path).header("date")).as(path).matches(IMF_FIXDATE);
        }
        assertThat(caller.request("POST", "/actuator/weirreload", "Origin: http://evil.example", "Content-Length: 0")
                        .header("date"))
                .as("the guard's refusal")
                .matches(IMF_FIXDATE);
        // Last: a stream has no end.
        caller.send(TestCaller.head("GET", "/actuator/weirstream"));
        TestCaller.Answer head = caller.readHead();
        assertThat(head.status()).isEqualTo(200);
        assertThat(head.header("date")).as("the live stream").matches(IMF_FIXDATE);
    }

    /** Reactor Netty answers such a request itself. */
    private static void assertMalformedIsDated(TestCaller fresh) throws IOException {
        try (fresh) {
            fresh.send("GET /a b c d HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n");
            TestCaller.Answer answer = fresh.readHead();
            assertThat(answer.status()).isEqualTo(400);
            assertThat(answer.header("date")).matches(IMF_FIXDATE);
        }
    }
}
