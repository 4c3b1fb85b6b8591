package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.health.HealthChecks;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Health checks of a backend with a primary and a backup over sockets. */
class BackupChecksIT {

    private static final int CALLS = 20;

    private final TestBackend primary = TestBackend.healthy();
    private final TestBackend backup = TestBackend.healthy();
    private TestGateway gateway;

    @BeforeEach
    void start() {
        gateway = TestGateway.setup()
                .addressed(
                        "orders",
                        "instances: [{ uri: \"%s\" }, { uri: \"%s\", backup: true }]"
                                .formatted(primary.uri(), backup.uri()),
                        "deadline: 60s",
                        "health-check: { path: /up, interval: 100ms, timeout: 100ms }")
                .route("orders", "orders")
                .start();
    }

    @AfterEach
    void close() {
        gateway.assertNothingHeld();
        gateway.close();
        primary.close();
        backup.close();
    }

    private Instance instance(int index) {
        return gateway.backend("orders").instances().all().get(index);
    }

    private static void answer(TestBackend server, int checks, int calls) {
        server.behave(
                (request, conversation) -> conversation.answer(request.target().equals("/up") ? checks : calls, ""));
    }

    /** Sends calls, and expects answers with 200. Returns how many of them the instance has answered. */
    private long answeredBy(int index) throws IOException {
        long before = instance(index).answeredCalls();
        for (int i = 0; i < CALLS; i++) {
            for (Door door : Door.values()) {
                assertThat(TestCaller.get(gateway.port(), door.path("orders", "call"))
                                .status())
                        .isEqualTo(200);
            }
        }
        return instance(index).answeredCalls() - before;
    }

    /** Whether the instance's check has failed without effect, since all others fail theirs. */
    private boolean isIgnored(int index) {
        HealthChecks.Status check = instance(index).health().check();
        return check != null && check.isIgnored() && !instance(index).health().isHeldByCheck();
    }

    private static int all() {
        return CALLS * Door.values().length;
    }

    private static void eventually(Callable<Boolean> condition) {
        await().atMost(TestGateway.PATIENCE).until(condition);
    }

    @Test
    void aPrimaryThatFailsItsCheckLeavesTheCallsToTheBackup() throws IOException {
        assertThat(answeredBy(1)).as("in calm").isZero();
        answer(primary, 503, 200);
        eventually(() -> instance(0).health().isHeldByCheck());

        assertThat(answeredBy(1)).as("by the backup").isEqualTo(all());
        assertThat(instance(0).failedCalls()).isZero();
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);

        answer(primary, 200, 200);
        eventually(() -> answeredBy(0) > 0 && instance(0).health().state() == State.CLOSED);
        assertThat(answeredBy(1)).as("after the return").isZero();
    }

    @Test
    void aBackupThatFailsItsCheckIsOutAndItsCheckIsIgnoredOnceThePrimaryIsOutToo() throws IOException {
        answer(backup, 503, 200);
        eventually(() -> instance(1).health().isHeldByCheck());
        assertThat(answeredBy(0)).as("by the primary").isEqualTo(all());

        primary.behave((request, conversation) -> conversation.reset());
        eventually(() -> {
            TestCaller.get(gateway.port(), Door.COMPILED.path("orders", "call"));
            return instance(1).health().state() == State.CLOSED;
        });
        assertThat(answeredBy(1)).as("by the backup").isEqualTo(all());

        answer(primary, 200, 200);
        eventually(() -> answeredBy(0) > 0 && instance(0).health().state() == State.CLOSED);
        assertThat(answeredBy(1)).as("after the return").isZero();
    }

    @Test
    void checksThatFailAtBothAreIgnoredAndThePrimaryServes() throws IOException {
        answer(primary, 404, 200);
        answer(backup, 404, 200);
        eventually(() -> {
            answeredBy(0);
            return isIgnored(0) && isIgnored(1) && instance(0).health().state() == State.CLOSED;
        });
        eventually(() -> answeredBy(0) == all());
        assertThat(answeredBy(1)).isZero();
    }
}
