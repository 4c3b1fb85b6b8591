package io.weir.lastgood;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * An attacker asks first, a victim afterwards, while the backend is down. The backend is as careless as
 * possible: its answer contains the whole request, without {@code Vary} and {@code Cache-Control}. The
 * victim gets an answer only if the backend would have given the same one to the victim.
 */
class CachePoisoningIT {

    /** Of transport and tracing; and of browsers, for which {@code Vary} is there. */
    private static final Set<String> NOT_SHOWN = Set.of(
            "via",
            "x-request-id",
            "x-request-timeout",
            "x-forwarded-for",
            "forwarded",
            "user-agent",
            "referer",
            "accept-language",
            "accept-encoding",
            "range",
            "x-priority");

    private static TestBackend backend;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend = TestBackend.start(CachePoisoningIT::answer);
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend("orders", backend.uri(), "deadline: 10s")
                .route("kept", "orders", "last-good: { max-age: 10m }")
                // Values from callers are believed: the worst case.
                .weir("edge: { trusted-proxies: [ 127.0.0.0/8 ], priority-header: x-priority }")
                .start();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    @BeforeEach
    void empty() {
        gateway.calm();
        store().empty(null);
    }

    private static void answer(TestBackend.Request request, TestBackend.Conversation conversation) throws IOException {
        conversation.drain(request);
        String fields = request.head()
                .lines()
                .filter(line -> !NOT_SHOWN.contains(line.split(":", 2)[0].toLowerCase(Locale.ROOT)))
                .sorted()
                .collect(Collectors.joining("\n"));
        String vary = request.target().contains("vary-all") ? "Vary: *\r\n" : "";
        String body = request.line() + '\n' + fields;
        conversation.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + vary + "Content-Length: " + body.length()
                + "\r\n\r\n" + body);
    }

    private record Ask(String method, String target, List<String> fields) {

        static Ask get(String target, String... fields) {
            return new Ask("GET", target, List.of(fields));
        }
    }

    /** Each row: the attacker's request, with {@code PATH} for the route's path; the victim asks plainly. */
    static Stream<Arguments> attacks() {
        return Stream.of(Door.values())
                .flatMap(door -> Stream.of(
                                Ask.get("PATH?a=1&b=2", "X-Forwarded-Host: evil.example"),
                                Ask.get("PATH?a=1&b=2", "X-Forwarded-Proto: https"),
                                Ask.get("PATH?a=1&b=2", "X-Forwarded-Port: 9"),
                                Ask.get("PATH?a=1&b=2", "X-Forwarded-Prefix: /evil"),
                                Ask.get("PATH?a=1&b=2", "X-Forwarded-Scheme: evil"),
                                Ask.get("PATH?a=1&b=2", "X_Forwarded_Host: evil.example"),
                                Ask.get("PATH?a=1&b=2", "X-Host: evil.example"),
                                Ask.get("PATH?a=1&b=2", "X-Original-URL: /admin"),
                                Ask.get("PATH?a=1&b=2", "X-Rewrite-URL: /admin"),
                                Ask.get("PATH?a=1&b=2", "X-HTTP-Method-Override: DELETE"),
                                Ask.get("PATH?a=1&b=2", "X-HTTP-Method: PUT"),
                                Ask.get("PATH?a=1&b=2", "X-Method-Override: POST"),
                                Ask.get("PATH?a=1&b=2", "Origin: https://evil.example"),
                                Ask.get("PATH?a=1&b=2", "Accept: text/evil"),
                                Ask.get("PATH?a=1&b=2", "Cookie: session=evil"),
                                Ask.get("PATH?a=1&b=2", "Authorization: Bearer evil"),
                                Ask.get("PATH?a=1&b=2", "X-Api-Key: evil"),
                                Ask.get("PATH?a=1&b=2", "Connection: x-evil", "X-Evil: 1"),
                                Ask.get("PATH?a=1&b=2", "X-Evil: 1"),
                                Ask.get("PATH?a=1&b=2", "X-Evil:"),
                                Ask.get("PATH?a=1&b=2", "TE: trailers"),
                                Ask.get("PATH?a=1&b=2", "Max-Forwards: 0"),
                                Ask.get("PATH?a=1&b=2", "Content-Type: text/evil"),
                                Ask.get("http://evil.example" + "PATH?a=1&b=2"),
                                Ask.get("http://WEIR.test" + "PATH?a=1&b=2"),
                                Ask.get("http://weir.test:80" + "PATH?a=1&b=2"),
                                Ask.get("PATH?b=2&a=1"),
                                Ask.get("PATH?a=1&b=2&_method=DELETE"),
                                Ask.get("PATH?a=1&b=2&"),
                                Ask.get("PATH?a=1&&b=2"),
                                Ask.get("PATH?a=1;b=2"),
                                Ask.get("PATH?A=1&b=2"),
                                Ask.get("PATH?a=%31&b=2"),
                                Ask.get("PATH?a=1&b=2&b=2"),
                                Ask.get("PATH?"),
                                Ask.get("PATH"),
                                Ask.get("PATH/?a=1&b=2"),
                                Ask.get("PATH;evil?a=1&b=2"),
                                Ask.get("PATH%20?a=1&b=2"),
                                Ask.get("PATH%3Fa=1&b=2"),
                                Ask.get("PATH/%2e?a=1&b=2"),
                                Ask.get("PATH/./?a=1&b=2"),
                                Ask.get("PATH//?a=1&b=2"),
                                Ask.get("CASE?a=1&b=2"),
                                Ask.get("ENCODED?a=1&b=2"),
                                new Ask("HEAD", "PATH?a=1&b=2", List.of()),
                                new Ask("POST", "PATH?a=1&b=2", List.of("Content-Length: 0")),
                                new Ask("OPTIONS", "PATH?a=1&b=2", List.of()))
                        .map(ask -> Arguments.of(door, ask)));
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("attacks")
    void aVictimGetsOnlyWhatTheBackendWouldHaveAnswered(Door door, Ask attack) throws IOException {
        String path = door.path("kept", "item");
        String target = path + "?a=1&b=2";
        String expected = TestCaller.get(gateway.port(), target).text();
        awaitSettled();
        store().empty(null);

        try (TestCaller attacker = TestCaller.to(gateway.port())) {
            String spelled = attack.target()
                    .replace("PATH", path)
                    .replace("CASE", door.path("kept", "Item"))
                    .replace("ENCODED", door.path("kept", "%69tem"));
            attacker.request(attack.method(), spelled, attack.fields().toArray(String[]::new));
        }
        awaitSettled();
        gateway.backend("orders").health().operator().forceOpen();

        TestCaller.Answer victim = TestCaller.get(gateway.port(), target);
        if (victim.status() == 200) {
            assertThat(victim.text()).isEqualTo(expected);
        } else {
            assertThat(victim.status()).isEqualTo(503);
        }
    }

    /** The other way round: an answer that a victim has caused is not the attacker's. */
    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("attacks")
    void anAttackerGetsNoAnswerOfAVictim(Door door, Ask attack) throws IOException {
        String path = door.path("kept", "item");
        String target = path + "?a=1&b=2";
        String spelled = attack.target()
                .replace("PATH", path)
                .replace("CASE", door.path("kept", "Item"))
                .replace("ENCODED", door.path("kept", "%69tem"));
        String[] fields = attack.fields().toArray(String[]::new);
        TestCaller.Answer expected;
        try (TestCaller attacker = TestCaller.to(gateway.port())) {
            expected = attacker.request(attack.method(), spelled, fields);
        }
        awaitSettled();
        store().empty(null);
        TestCaller.get(gateway.port(), target);
        awaitSettled();
        gateway.backend("orders").health().operator().forceOpen();
        try (TestCaller attacker = TestCaller.to(gateway.port())) {
            TestCaller.Answer got = attacker.request(attack.method(), spelled, fields);
            if (got.status() == 200) {
                assertThat(got.text()).isEqualTo(expected.text());
            } else {
                assertThat(got.status()).isIn(503, expected.status());
            }
        }
    }

    @ParameterizedTest
    @MethodSource("io.weir.testing.Tier#doors")
    void nobodyGetsAnAnswerThatVariesByEverything(Door door) throws IOException {
        TestCaller.get(gateway.port(), door.path("kept", "vary-all"));
        awaitSettled();
        gateway.backend("orders").health().operator().forceOpen();
        assertThat(TestCaller.get(gateway.port(), door.path("kept", "vary-all")).status())
                .isEqualTo(503);
    }

    /** The table above would show nothing if no answer were kept. */
    @ParameterizedTest
    @MethodSource("io.weir.testing.Tier#doors")
    void theSameRequestGetsTheAnswerAlsoWithAPriority(Door door) throws IOException {
        String target = door.path("kept", "item") + "?a=1&b=2";
        String expected =
                TestCaller.get(gateway.port(), target, "X-Priority: sheddable").text();
        awaitSettled();
        gateway.backend("orders").health().operator().forceOpen();
        assertThat(TestCaller.get(gateway.port(), target, "User-Agent: other").text())
                .isEqualTo(expected);
    }

    private static LastGoodStore store() {
        return gateway.bean(LastGoodStore.class);
    }

    /** Waits until no exchange and no recording is under way: an answer is in place, or never will be. */
    private static void awaitSettled() {
        gateway.assertNothingHeld();
        await().atMost(TestGateway.PATIENCE).until(() -> store().recordingBytes() == 0);
    }
}
