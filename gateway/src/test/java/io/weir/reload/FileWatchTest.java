package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.config.WeirProperties;
import io.weir.config.check.ConfigurationReader;
import io.weir.config.check.ConfigurationSnapshot;
import io.weir.management.OperatorChangeStore;
import io.weir.management.RecentEvents;
import io.weir.metrics.MeterBook;
import io.weir.metrics.ReloadMeters;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.testing.VirtualTimer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.web.context.reactive.StandardReactiveWebEnvironment;
import org.springframework.cloud.gateway.config.GatewayProperties;

/** Files that change while they are read. Without events, a comparison would take an hour. */
class FileWatchTest {

    /** Accepts each configuration. */
    private static final class AcceptingTarget implements ConfigurationTarget {
        @Override
        public Preparation prepare(WeirProperties weir) {
            return () -> {};
        }

        @Override
        public void apply(WeirProperties weir, GatewayProperties gateway) {}

        @Override
        public void showOperatorsLimits(Set<String> backends) {}
    }

    @TempDir
    private Path directory;

    private final VirtualTimer timer = new VirtualTimer();
    private final MeterBook book = new MeterBook(new SimpleMeterRegistry());
    private final AtomicInteger reads = new AtomicInteger();
    /** The read that finds a limit of 6, which is in the file only during this read; 0: none. */
    private volatile int replacedRead;

    private final AtomicInteger failedReads = new AtomicInteger();
    /** Whether each read fails. */
    private volatile boolean isUnreadable;

    private ConfigurationReader reader;
    private LiveConfiguration configuration;
    private FileWatch watch;

    @BeforeEach
    void start() {
        write(4);
        reader = new ConfigurationReader(
                new StandardReactiveWebEnvironment(),
                "--spring.config.additional-location=file:" + directory.resolve("gateway.yml"));
        configuration = new LiveConfiguration(
                reader.get(),
                this::read,
                new AcceptingTarget(),
                () -> false,
                new OperatorChangeStore(timer, timer::nanos, timer::instant),
                timer::instant,
                new ReloadMeters(book, Instant.EPOCH),
                new RecentEvents(timer::instant),
                KeptConfigurations.in(directory.resolve("kept")));
        assertThat(configuration.inForce().report().problems()).isEmpty();
        watch = new FileWatch(configuration, Duration.ofHours(1), Duration.ofMillis(10));
    }

    @AfterEach
    void stop() {
        watch.close();
    }

    private ConfigurationSnapshot read() {
        if (isUnreadable) {
            failedReads.incrementAndGet();
            throw new IllegalStateException("unreadable, in this test");
        }
        if (reads.incrementAndGet() != replacedRead) {
            return reader.get();
        }
        Path file = directory.resolve("gateway.yml");
        try {
            String before = Files.readString(file);
            write(6);
            ConfigurationSnapshot read = reader.get();
            replace(before);
            return read;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void write(int limit) {
        replace("""
                weir.backends.orders: { uri: "http://localhost:1", bulkhead: { max-concurrent-calls: %d } }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                """.formatted(limit));
    }

    private void replace(String yaml) {
        try {
            Path next = Files.writeString(directory.resolve("gateway.yml.next"), yaml);
            Files.move(
                    next,
                    directory.resolve("gateway.yml"),
                    StandardCopyOption.ATOMIC_MOVE,
                    StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private int limit() {
        return Objects.requireNonNull(configuration.inForce().weir().backends().get("orders"))
                .bulkhead()
                .maxConcurrentCalls()
                .orElse(0);
    }

    /** The watch compares once after its start; from then on only hashes, until something changes. */
    private void startWatch() {
        watch.start();
        await().until(() -> reads.get() == 1);
    }

    @Test
    void loadsWhatReplacedItsContentDuringTheReload() {
        startWatch();

        replacedRead = 2;
        write(5);

        await().until(() -> limit() == 5);
    }

    @Test
    void loadsWhatReplacedItsContentDuringAReloadByAnOperator() {
        startWatch();

        replacedRead = 2;
        configuration.reload(Trigger.REQUEST, "an operator");
        assertThat(limit()).isEqualTo(6);

        await().until(() -> limit() == 4);
    }

    @Test
    void loadsWhatReplacedItsContentDuringTheStart() {
        // The first read compares, the second one reloads.
        replacedRead = 2;
        write(5);

        watch.start();

        await().until(() -> limit() == 5);
    }

    /** Its first comparison reads the files, and a failure of that read was only logged. */
    @Test
    void rejectsWhatCannotBeReadAtTheStart() {
        isUnreadable = true;
        write(5);

        watch.start();

        await().until(() -> configuration.history().lastRejected() != null);
    }

    @Test
    void rejectsFilesThatStayUnreadableOnce() {
        startWatch();
        isUnreadable = true;
        write(5);
        await().until(() -> configuration.history().lastRejected() != null);
        ConfigurationChange first = configuration.history().lastRejected();

        for (int i = 0; i < 3; i++) {
            int before = failedReads.get();
            write(6 + i);
            await().until(() -> failedReads.get() > before);
        }

        assertThat(configuration.history().lastRejected()).isSameAs(first);
    }

    @Test
    void endsARejectionWhenTheContentInForceIsBackAfterAFailedRead() {
        startWatch();
        isUnreadable = true;
        write(5);
        await().until(() -> configuration.history().lastRejected() != null);

        isUnreadable = false;
        write(4);

        await().until(() -> configuration.history().lastRejected() == null);
        assertThat(limit()).isEqualTo(4);
    }
}
