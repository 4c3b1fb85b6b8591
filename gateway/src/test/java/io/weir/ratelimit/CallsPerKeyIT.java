package io.weir.ratelimit;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.outcome.Reason;
import io.weir.reload.ConfigurationChange;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeAll;
import tools.jackson.databind.JsonNode;

/** One caller whose calls hang, beside others: with a limit on the calls of each caller, and without. */
class CallsPerKeyIT extends GatewayTests {

    private static final int LIMIT = 3;
    private static final int PERMITS = 8;
    private static final int OTHER_CALLS = 20;
    private static final String GREEDY = "X-Forwarded-For: 192.0.2.1";
    private static final String OTHER = "X-Forwarded-For: 192.0.2.2";
    private static final String BULKHEAD =
            "bulkhead: { max-concurrent-calls: 8, queue-capacity: 2, max-wait-duration: 10ms }";

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .withoutPauses()
                .weir("edge: { trusted-proxies: [127.0.0.1] }")
                .backend("capped", backend.uri(), "deadline: 60s", BULKHEAD)
                .backend("open", backend.uri(), "deadline: 60s", BULKHEAD)
                .backend("short", backend.uri(), "deadline: 300ms", BULKHEAD)
                .route("capped", "capped", "max-concurrent-per-key: { calls: 3 }")
                .route("open", "open")
                .route("short", "short", "max-concurrent-per-key: { calls: 3 }")
                .start();
    }

    /** Calls that hang, as many as there are permits; those that are refused end at once. */
    private List<TestCaller> hang(Door door, String route) throws IOException {
        List<TestCaller> callers = new ArrayList<>();
        for (int i = 0; i < PERMITS; i++) {
            TestCaller caller = TestCaller.to(gateway.port());
            caller.send(TestCaller.head("GET", door.path(route, "hangs-" + i), GREEDY));
            callers.add(caller);
        }
        return callers;
    }

    private static void close(List<TestCaller> callers) throws IOException {
        for (TestCaller caller : callers) {
            caller.close();
        }
    }

    /** The answers with 200 of another caller, whose calls the backend answers at once. */
    private static int answeredOthers(Door door, String route) throws IOException {
        int answered = 0;
        for (int i = 0; i < OTHER_CALLS; i++) {
            if (get(door, route, "other-" + i, OTHER).status() == 200) {
                answered++;
            }
        }
        return answered;
    }

    private void answerOthersAtOnce() {
        TestBackend.Behaviour held = calls;
        backend.behave((request, conversation) -> {
            if (request.target().contains("hangs")) {
                held.serve(request, conversation);
            } else {
                conversation.answer(200, "ok");
            }
        });
    }

    private static double meter(String name, Door door, String route) {
        return gateway.bean(MeterRegistry.class)
                .get(name)
                .tag("route", door.id(route))
                .meter()
                .measure()
                .iterator()
                .next()
                .getValue();
    }

    @Door.Both
    void answersAllOthersBesideACallerWhoseCallsHang(Door door) throws IOException {
        answerOthersAtOnce();
        double refusedBefore = meter("weir.caller.limit.refused", door, "capped");
        List<TestCaller> callers = hang(door, "capped");
        await().atMost(TestGateway.PATIENCE).until(() -> calls.inside() == LIMIT);
        await().atMost(TestGateway.PATIENCE)
                .until(() -> meter("weir.caller.limit.refused", door, "capped") - refusedBefore == PERMITS - LIMIT);

        assertThat(answeredOthers(door, "capped")).isEqualTo(OTHER_CALLS);

        String path = door.path("capped", "one-more");
        TestCaller.Answer refused = TestCaller.get(gateway.port(), path, GREEDY);
        JsonNode line = assertRefused(gateway, door, "capped", path, refused, Reason.BULKHEAD_FULL);
        assertThat(line.path("detail").asString()).isEqualTo("the caller is at its limit (max-concurrent-per-key)");
        assertThat(calls.most()).isEqualTo(LIMIT);
        assertThat(meter("weir.caller.limit.keys", door, "capped")).isEqualTo(1);

        close(callers);
        await().atMost(TestGateway.PATIENCE)
                .until(() -> get(door, "capped", "again", GREEDY).status() == 200);
        awaitNoKeys(door, "capped");
    }

    /** A call gives its place back shortly after its caller has the answer. */
    private static void awaitNoKeys(Door door, String route) {
        await().atMost(TestGateway.PATIENCE).until(() -> meter("weir.caller.limit.keys", door, route) == 0);
    }

    @Door.Any
    void doesNotAnswerAllOthersWithoutTheLimit(Door door) throws IOException {
        answerOthersAtOnce();
        List<TestCaller> callers = hang(door, "open");
        await().atMost(TestGateway.PATIENCE).until(() -> calls.inside() == PERMITS);

        assertThat(answeredOthers(door, "open")).isLessThan(OTHER_CALLS);

        close(callers);
    }

    @Door.Any
    void givesThePlacesBackAtTheDeadline(Door door) throws IOException {
        answerOthersAtOnce();
        List<TestCaller> callers = hang(door, "short");

        await().atMost(TestGateway.PATIENCE)
                .until(() -> get(door, "short", "again", GREEDY).status() == 200);

        awaitNoKeys(door, "short");
        close(callers);
    }

    @Door.Any
    void countsOnInAReload(Door door) throws IOException {
        answerOthersAtOnce();
        String before = Files.readString(Objects.requireNonNull(gateway.file()));
        List<TestCaller> callers = hang(door, "capped");
        await().atMost(TestGateway.PATIENCE).until(() -> calls.inside() == LIMIT);

        reload(before.replace("calls: 3", "calls: 2"));
        assertThat(get(door, "capped", "less", GREEDY).status()).isEqualTo(503);
        reload(before.replace("calls: 3", "calls: 5"));
        assertThat(get(door, "capped", "more", GREEDY).status()).isEqualTo(200);

        close(callers);
        await().atMost(TestGateway.PATIENCE).until(() -> meter("weir.caller.limit.keys", door, "capped") == 0);
        reload(before);
        assertThat(get(door, "capped", "again", GREEDY).status()).isEqualTo(200);
    }

    private static void reload(String yaml) {
        gateway.rewrite(yaml);
        ConfigurationChange change = gateway.bean(LiveConfiguration.class).reload(Trigger.REQUEST, "a test");
        assertThat(change.problems()).isEmpty();
    }
}
