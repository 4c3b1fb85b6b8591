package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.apply.RetiredGenerations;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Repeated reloads under load lose no request. {@code perf/reload} measures the latency.
 */
@Tag("full")
class ReloadUnderLoadIT {

    private static final int CALLERS = 8;
    private static final int RELOADS = 30;

    @TempDir
    private Path mount;

    @Test
    void losesNoRequest() throws Exception {
        try (TestBackend one = TestBackend.healthy();
                TestBackend two = TestBackend.healthy()) {
            publish(yaml(one, 0));
            Path file = Files.createSymbolicLink(mount.resolve("gateway.yml"), Path.of("..data", "gateway.yml"));
            try (TestGateway gateway = TestGateway.startWith(file)) {
                Callers callers = new Callers(gateway.port());
                for (int i = 1; i <= RELOADS; i++) {
                    publish(yaml(i % 2 == 0 ? one : two, i));
                    int calls = calls(i);
                    await().until(() -> gateway.backend("orders").bulkhead().maxConcurrentCalls() == calls);
                    int soFar = callers.answered.get();
                    await().until(() -> callers.answered.get() >= soFar + CALLERS);
                }
                callers.stop();

                assertThat(callers.lost).isEmpty();
                assertThat(callers.answered.get()).isEqualTo(callers.sent.get()).isGreaterThan(RELOADS * CALLERS);
                await().until(() -> gateway.bean(RetiredGenerations.class).openResources() == 0);
                assertThat(gateway.bean(LiveConfiguration.class).history().lastRejected())
                        .isNull();
                gateway.assertNothingHeld();
            }
        }
    }

    private static int calls(int i) {
        return CALLERS + 1 + i % 7;
    }

    /** Changes every limit, every second address, and adds or removes a route. */
    private static String yaml(TestBackend backend, int i) {
        return """
                weir:
                  reload: { watch: true, quiet-period: 10ms }
                  backends:
                    orders:
                      uri: "%s"
                      deadline: %ds
                      connection: { connect-timeout: 10s }
                      bulkhead: { max-concurrent-calls: %d, queue-capacity: %d, max-wait-duration: %dms }
                      circuit-breaker: { failure-rate-threshold: %d, sliding-window-size: %d }
                      max-streams: %d
                      retry-budget: { share: %d }
                  routes:
                    compiled: { max-concurrent-calls: %d }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: compiled, uri: "backend://orders", predicates: ["Path=/compiled/**"] }
                  - { id: general, uri: "backend://orders", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }
                  - { id: "visitor-%d", uri: "backend://orders", predicates: ["Path=/visitor/**"] }
                """.formatted(
                        backend.uri(),
                        20 + i,
                        calls(i),
                        CALLERS + i,
                        2000 + i,
                        40 + i,
                        30 + i,
                        10 + i,
                        10 + i,
                        CALLERS + i % 2,
                        i);
    }

    private void publish(String yaml) throws IOException {
        Path version = Files.createTempDirectory(mount, "..2026_");
        Files.writeString(version.resolve("gateway.yml"), yaml);
        Path link = Files.createSymbolicLink(mount.resolve("..data_tmp"), version.getFileName());
        Files.move(link, mount.resolve("..data"), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Sends sequential requests on one connection each, half of them through each door. */
    private static final class Callers {

        private final AtomicInteger sent = new AtomicInteger();
        private final AtomicInteger answered = new AtomicInteger();
        private final List<String> lost = new ArrayList<>();
        private final List<CompletableFuture<Void>> running = new ArrayList<>();
        private volatile boolean stopping;

        Callers(int port) {
            for (int i = 0; i < CALLERS; i++) {
                Door door = i % 2 == 0 ? Door.COMPILED : Door.GENERAL;
                running.add(CompletableFuture.runAsync(() -> call(port, door), Thread::startVirtualThread));
            }
        }

        private void call(int port, Door door) {
            String path = "/" + door.word() + "/1";
            try (TestCaller caller = TestCaller.to(port)) {
                while (!stopping) {
                    sent.incrementAndGet();
                    TestCaller.Answer answer = caller.request("GET", path);
                    if (answer.status() == 200 && answer.text().equals(path)) {
                        answered.incrementAndGet();
                    } else {
                        lost(path + ": " + answer.status() + ' ' + answer.text());
                    }
                }
            } catch (IOException e) {
                lost(path + ": " + e);
            }
        }

        private synchronized void lost(String what) {
            lost.add(what);
        }

        void stop() {
            stopping = true;
            running.forEach(CompletableFuture::join);
        }
    }
}
