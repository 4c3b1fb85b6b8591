package io.weir.errorpage;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.outcome.Reason;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Pages of HTML in place of the gateway's problems in JSON. */
class ErrorPagesIT extends GatewayTests {

    private static final String BROWSER = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";
    private static final String PAGE = "<h1>Sorrÿ: {{status}} {{reason}}</h1>";

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend("orders", backend.uri(), "deadline: 60s")
                .route("orders", "orders", "cors: { allowed-origins: [ \"https://shop.example\" ] }")
                .weir("errors: { pages: [ { body: \"" + PAGE + "\" } ] }")
                .start();
    }

    private static String page(int status, Reason reason) {
        return "<h1>Sorrÿ: " + status + " " + reason.word() + "</h1>";
    }

    private static void assertPage(TestCaller.Answer answer, Reason reason) {
        int status = reason.status().code();
        assertThat(answer.status()).isEqualTo(status);
        assertThat(new String(answer.body(), StandardCharsets.UTF_8)).isEqualTo(page(status, reason));
        assertThat(answer.header("content-type")).isEqualTo("text/html; charset=utf-8");
        assertThat(answer.header("proxy-status")).contains("details=\"" + reason.word() + '"');
        assertThat(answer.header("cache-control")).isEqualTo("no-store");
    }

    @Door.Both
    void aBrowserGetsThePageWithTheFieldsOfARefusal(Door door) throws IOException {
        gateway.backend("orders").health().operator().forceOpen();
        String path = door.path("orders", "browser");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), path, BROWSER, "Origin: https://shop.example");

        assertPage(answer, Reason.CIRCUIT_OPEN);
        assertThat(answer.header("retry-after")).isNotNull();
        assertThat(answer.header("access-control-allow-origin")).isEqualTo("https://shop.example");
        JsonNode line = gateway.assertTold(door, "orders", path, 503, "circuit-open");
        assertThat(line.path("bytes").asInt()).as("%s", line).isEqualTo(answer.body().length);
        gateway.backend("orders").health().operator().release();
    }

    @Door.Each
    void othersGetTheProblemInJson(Door door) throws IOException {
        gateway.backend("orders").health().operator().forceOpen();
        assertRefused(TestCaller.get(gateway.port(), door.path("orders", "curl")), Reason.CIRCUIT_OPEN);
        assertRefused(TestCaller.get(gateway.port(), door.path("orders", "any"), "Accept: */*"), Reason.CIRCUIT_OPEN);
        TestCaller.Answer grpc =
                TestCaller.get(gateway.port(), door.path("orders", "grpc"), "Content-Type: application/grpc", BROWSER);
        assertThat(grpc.header("content-type")).isEqualTo("application/grpc");
        gateway.backend("orders").health().operator().release();
    }

    @Door.Each
    void headHasTheLengthOfThePage(Door door) throws IOException {
        gateway.backend("orders").health().operator().forceOpen();
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestCaller.Answer head = caller.request("HEAD", door.path("orders", "head"), BROWSER);
            assertThat(head.header("content-length"))
                    .isEqualTo(
                            Integer.toString(page(503, Reason.CIRCUIT_OPEN).getBytes(StandardCharsets.UTF_8).length));
            assertPage(caller.request("GET", door.path("orders", "next"), BROWSER), Reason.CIRCUIT_OPEN);
        }
        gateway.backend("orders").health().operator().release();
    }

    @Test
    void aRequestWithoutARouteAndAMalformedOneGetItToo() throws IOException {
        assertPage(TestCaller.get(gateway.port(), "/nowhere", BROWSER), Reason.NO_ROUTE);
        assertPage(TestCaller.get(gateway.port(), "/a%zz", BROWSER), Reason.BAD_REQUEST);
    }

    /** The backend's own errors are the backend's. */
    @Door.Each
    void anAnswerOfTheBackendStaysAsItIs(Door door) throws Exception {
        backend.behave((request, conversation) -> conversation.answer(503, "the backend's"));

        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path("orders", "own"), BROWSER);

        assertThat(answer.status()).isEqualTo(503);
        assertThat(answer.text()).isEqualTo("the backend's");
    }

    @Test
    void aReloadReplacesIt() throws IOException {
        String before = Files.readString(gateway.file());
        reloaded(before.replace("<h1>Sorrÿ: {{status}} {{reason}}</h1>", "<p>other</p>"));
        assertThat(TestCaller.get(gateway.port(), "/nowhere", BROWSER).text()).isEqualTo("<p>other</p>");

        reloaded(before.replaceAll("(?m)^.*errors: .*$", ""));
        assertRefused(TestCaller.get(gateway.port(), "/nowhere", BROWSER), Reason.NO_ROUTE);

        reloaded(before);
        assertPage(TestCaller.get(gateway.port(), "/nowhere", BROWSER), Reason.NO_ROUTE);
    }

    private static void reloaded(String yaml) {
        gateway.rewrite(yaml);
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isEmpty();
    }
}
