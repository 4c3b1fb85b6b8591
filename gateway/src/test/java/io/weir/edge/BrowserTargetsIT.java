package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.Tier;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Targets that browsers send, and targets as their backend asks for them. */
@ExtendWith(Leaks.class)
class BrowserTargetsIT extends OneBackendTests {

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend("orders", backend.uri())
                .route("usual", "orders")
                .route("exact", "orders", "preserve-path: true")
                .start();
    }

    private static Stream<Arguments> sent() {
        return Stream.of(
                        Arguments.of("a?q=|^`{}\"<>\\", "a?q=%7C%5E%60%7B%7D%22%3C%3E%5C"),
                        Arguments.of("a?q=a[]=100%&c=%zz", "a?q=a[]=100%25&c=%25zz"),
                        Arguments.of("a[1]{b}|^`\"<>", "a%5B1%5D%7Bb%7D%7C%5E%60%22%3C%3E"),
                        Arguments.of("a//b/./c?d=//e", "a/b/c?d=//e"),
                        Arguments.of("%61/x/../c", "a/c"))
                .flatMap(BrowserTargetsIT::eachDoor);
    }

    private static Stream<Arguments> preserved() {
        return Stream.of(
                        Arguments.of("a//b/./c?d=//e|", "a//b/./c?d=//e%7C"),
                        Arguments.of("%61/%c3%a9/", "%61/%c3%a9/"),
                        Arguments.of("http://x[1]/y", "http://x%5B1%5D/y"))
                .flatMap(BrowserTargetsIT::eachDoor);
    }

    private static Stream<Arguments> eachDoor(Arguments row) {
        return Tier.doors().stream().map(door -> Arguments.of(door, row.get()[0], row.get()[1]));
    }

    private static String bodyOverHttp2(String target) throws IOException {
        try (RawHttp2Client client = new RawHttp2Client(RawHttp1Client.to(gateway.port()))) {
            client.headers(1, RawHttp2Client.get(target), true);
            String status = client.next();
            StringBuilder body = new StringBuilder(status.substring(status.lastIndexOf(' ') + 1)).append(' ');
            for (String event = client.next(); ; event = client.next()) {
                assertThat(event).startsWith("data 1 ");
                body.append(event.substring("data 1 ".length()).replaceFirst(" end$", ""));
                if (event.endsWith(" end")) {
                    return body.toString();
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("sent")
    void passesOnWhatBrowsersSend(Door door, String sent, String received) throws IOException {
        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path("usual", sent));

        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(answer.text()).isEqualTo(door.path("usual", received));
        assertThat(bodyOverHttp2(door.path("usual", sent))).isEqualTo("200 " + door.path("usual", received));
    }

    @ParameterizedTest
    @MethodSource("preserved")
    void preservesThePathForABackendThatAsksForIt(Door door, String sent, String received) throws IOException {
        assertThat(TestCaller.get(gateway.port(), door.path("exact", sent)).text())
                .isEqualTo(door.path("exact", received));
        assertThat(bodyOverHttp2(door.path("exact", sent))).isEqualTo("200 " + door.path("exact", received));
    }

    @Door.Each
    void refusesToPreserveAPathWithDotDotSegments(Door door) throws IOException {
        for (String path : new String[] {"a/../b", "a/%2e%2e/b", "x//../b"}) {
            TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path("exact", path));

            assertThat(answer.status()).as(path).isEqualTo(400);
            assertThat(answer.reason()).isEqualTo(Reason.BAD_REQUEST.word());
            assertThat(answer.text()).contains("no ..");
        }
    }
}
