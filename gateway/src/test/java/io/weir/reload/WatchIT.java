package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The gateway reloads its file after any kind of change. */
class WatchIT {

    @TempDir
    private Path mount;

    private static TestBackend backend;
    /** The gateway of the tests that need no start of their own; null before the first of them. */
    private static @Nullable TestGateway shared;

    private @Nullable TestGateway started;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
    }

    @AfterEach
    void stop() {
        gateway().assertNothingHeld();
        if (gateway() != shared) {
            gateway().close();
        }
    }

    @AfterAll
    static void stopShared() {
        if (shared != null) {
            shared.close();
        }
        backend.close();
    }

    /** Uses the shared gateway, with the file of its start, and no import beside it. */
    private void useSharedGateway() throws IOException {
        if (shared == null) {
            shared = TestGateway.start(yaml(4));
        }
        started = shared;
        gateway().rewrite(yaml(4));
        awaitLimit(4);
        await().until(() -> history().lastRejected() == null);
        Files.deleteIfExists(gateway().file().resolveSibling("more.yml"));
    }

    /** Without events, a reload would take an hour. */
    private static String yaml(int calls) {
        return yaml(calls, "1h");
    }

    private static String yaml(int calls, String pollInterval) {
        return """
                weir:
                  reload: { watch: true, poll-interval: %s, quiet-period: 50ms }
                  backends:
                    orders: { uri: "%s", bulkhead: { max-concurrent-calls: %d } }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                """.formatted(pollInterval, backend.uri(), calls);
    }

    private void awaitLimit(int calls) {
        await().until(() -> gateway().backend("orders").bulkhead().maxConcurrentCalls() == calls);
    }

    private TestGateway gateway() {
        return Objects.requireNonNull(started);
    }

    private ChangeHistory history() {
        return gateway().bean(LiveConfiguration.class).history();
    }

    @Test
    void reloadsAReplacedFile() throws IOException {
        started = TestGateway.start(yaml(4));

        gateway().rewrite(yaml(5));
        awaitLimit(5);
        gateway().rewrite(yaml(6));
        awaitLimit(6);

        await().until(() -> history().changes().size() == 2);
        assertThat(history().changes().getFirst().by()).isEqualTo("file watch");
        assertThat(TestCaller.get(gateway().port(), "/orders/1").status()).isEqualTo(200);
    }

    @Test
    void reloadsAFileWrittenInPlace() throws IOException {
        useSharedGateway();

        Files.writeString(gateway().file(), yaml(5));

        awaitLimit(5);
    }

    /**
     * As the kubelet does: files in a versioned directory, a link to this directory, and a link through it
     * for each file.
     */
    @Test
    void reloadsAReplacedConfigMap() throws IOException {
        publish(yaml(4));
        Files.createSymbolicLink(mount.resolve("gateway.yml"), Path.of("..data", "gateway.yml"));
        started = TestGateway.startWith(mount.resolve("gateway.yml"));

        publish(yaml(5));
        awaitLimit(5);
        publish(yaml(6));
        awaitLimit(6);
        // An invalid file is rejected here too.
        publish(yaml(0));
        await().until(() -> history().lastRejected() != null);
        publish(yaml(7));
        awaitLimit(7);
        await().until(() -> history().lastRejected() == null);
    }

    private void publish(String yaml) throws IOException {
        Path version = Files.createTempDirectory(mount, "..2026_");
        Files.writeString(version.resolve("gateway.yml"), yaml);
        Path link = Files.createSymbolicLink(mount.resolve("..data_tmp"), version.getFileName());
        Files.move(link, mount.resolve("..data"), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    @Test
    void reloadsThroughAChangedLink() throws IOException {
        Path old = Files.createDirectories(mount.resolve("releases/old"));
        Path next = Files.createDirectories(mount.resolve("releases/next"));
        Files.writeString(old.resolve("gateway.yml"), yaml(4));
        Files.writeString(next.resolve("gateway.yml"), yaml(5));
        Path current = Files.createSymbolicLink(mount.resolve("current"), old);
        started = TestGateway.startWith(current.resolve("gateway.yml"));

        Path link = Files.createSymbolicLink(mount.resolve("current.next"), next);
        Files.move(link, current, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        awaitLimit(5);

        // The link's new target is watched now.
        Files.writeString(next.resolve("gateway.yml"), yaml(6));
        awaitLimit(6);
    }

    @Test
    void doesNotLoadAPartialFile() throws IOException {
        useSharedGateway();
        String next = yaml(5);
        int half = next.indexOf("Path=");

        Files.writeString(gateway().file(), next.substring(0, half));
        await().until(() -> history().lastRejected() != null);
        assertThat(gateway().backend("orders").bulkhead().maxConcurrentCalls()).isEqualTo(4);
        assertThat(gateway()
                        .bean(MeterRegistry.class)
                        .get("weir.reload.refused")
                        .gauge()
                        .value())
                .isEqualTo(1);

        Files.writeString(gateway().file(), next.substring(half), StandardOpenOption.APPEND);
        awaitLimit(5);
        await().until(() -> history().lastRejected() == null);
    }

    @Test
    void waitsForAMissingFile() throws IOException {
        useSharedGateway();

        Files.delete(gateway().file());
        await().until(() -> history().lastRejected() != null);
        assertThat(TestCaller.get(gateway().port(), "/orders/1").status()).isEqualTo(200);

        gateway().rewrite(yaml(5));
        awaitLimit(5);
    }

    @Test
    void pollsWithoutEvents() throws IOException {
        started = TestGateway.start(yaml(4, "100ms"));

        // Writes through a hard link in an unwatched directory, so the file's own directory produces no
        // event.
        Path elsewhere =
                Files.createLink(mount.resolve("elsewhere.yml"), gateway().file());
        Files.writeString(elsewhere, yaml(5, "100ms"));

        awaitLimit(5);
    }

    @Test
    void reloadsAnImportThatAppearsAndDisappears() throws IOException {
        started = TestGateway.start(yaml(4) + "spring.config.import: \"optional:more.yml\"\n");

        importing(limit(5));
        awaitLimit(5);
        importing(limit(0));
        await().until(() -> refused().contains("max-concurrent-calls: 0"));
        importing("weir: [");
        await().until(() -> !refused().contains("max-concurrent-calls: 0"));
        assertThat(refused()).contains("more.yml:1");
        importing(limit(6));
        awaitLimit(6);
        await().until(() -> history().lastRejected() == null);
        importing("# nothing yet");
        awaitLimit(4);
        importing(limit(7));
        awaitLimit(7);
    }

    /** A running gateway cannot add an import, but it reports the current problems. */
    @ParameterizedTest
    @ValueSource(strings = {"", "weir: [", "weir.backends.orders.deadline: soon"})
    void reloadsAfterAChangeOfARejectedFilesImport(String wrong) throws IOException {
        useSharedGateway();
        if (!wrong.isEmpty()) {
            importing(wrong);
        }
        gateway().rewrite(yaml(5) + "spring.config.import: more.yml\n");
        await().until(() -> history().lastRejected() != null);
        assertThat(refused()).doesNotContain("a change needs a restart");

        importing(limit(6));

        await().until(() -> refused().contains("a change needs a restart"));
        assertThat(gateway().backend("orders").bulkhead().maxConcurrentCalls()).isEqualTo(4);
    }

    private static String limit(int calls) {
        return "weir.backends.orders.bulkhead.max-concurrent-calls: " + calls;
    }

    /** Replaces the gateway's file atomically by one with an import. */
    private void importing(String yaml) throws IOException {
        Path next = Files.writeString(gateway().file().resolveSibling("more.next"), yaml);
        Files.move(
                next,
                next.resolveSibling("more.yml"),
                StandardCopyOption.ATOMIC_MOVE,
                StandardCopyOption.REPLACE_EXISTING);
    }

    /** The problems of the rejected files. */
    private String refused() {
        ConfigurationChange refused = history().lastRejected();
        return refused == null ? "" : String.join("\n", refused.problems());
    }

    @Test
    void ignoresAChangeOfTheModificationTime() throws IOException {
        started = TestGateway.start(yaml(4));
        Files.setLastModifiedTime(gateway().file(), FileTime.fromMillis(1));
        Files.writeString(gateway().file().resolveSibling("beside"), "it");

        gateway().rewrite(yaml(5));
        awaitLimit(5);

        await().until(() -> history().changes().size() == 1);
        assertThat(gateway()
                        .bean(MeterRegistry.class)
                        .get("weir.reloads")
                        .tag("result", "unchanged")
                        .counter()
                        .count())
                .isZero();
    }
}
