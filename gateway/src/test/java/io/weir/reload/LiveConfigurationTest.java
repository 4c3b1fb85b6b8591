package io.weir.reload;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.config.BackendProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.ConfigurationReader;
import io.weir.management.OperatorChangeStore;
import io.weir.management.OperatorChangeView;
import io.weir.management.OperatorChanges.Answer;
import io.weir.management.RecentEvents;
import io.weir.metrics.MeterBook;
import io.weir.metrics.ReloadMeters;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.testing.VirtualTimer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.web.context.reactive.StandardReactiveWebEnvironment;
import org.springframework.cloud.gateway.config.GatewayProperties;

/** Changes of limits with a time to live, each event that can come before their end, and the hash. */
class LiveConfigurationTest {

    private static final Duration TEN_MINUTES = Duration.ofMinutes(10);
    private static final Duration HOUR = Duration.ofHours(1);

    private static final String YAML = """
            weir:
              backends:
                orders: { uri: "http://localhost:1", bulkhead: { max-concurrent-calls: 4 } }
                search: { uri: "http://localhost:2" }
            spring.cloud.gateway.server.webflux.routes:
              - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
              - { id: search, uri: "backend://search", predicates: ["Path=/search/**"] }
            """;

    /** The gateway, as far as the configuration reaches it. */
    private static final class RecordingTarget implements ConfigurationTarget {

        private volatile @Nullable WeirProperties applied;
        private Set<String> limited = Set.of();
        private boolean isFailing;
        /** Runs while a reload waits for the addresses of new backends. */
        private Runnable whileWaiting = () -> {};

        private final List<String> prepared = new ArrayList<>();

        @Override
        public Preparation prepare(WeirProperties weir) {
            prepared.add("prepared " + new TreeSet<>(weir.backends().keySet()));
            whileWaiting.run();
            return () -> prepared.add("discarded");
        }

        @Override
        public void apply(WeirProperties weir, GatewayProperties gateway) {
            if (isFailing) {
                throw new IllegalStateException("a file of certificates is missing");
            }
            applied = weir;
        }

        @Override
        public void showOperatorsLimits(Set<String> backends) {
            limited = backends;
        }

        BackendProperties backend(String name) {
            WeirProperties present = applied;
            if (present == null) {
                throw new AssertionError("nothing was applied");
            }
            BackendProperties backend = present.backends().get(name);
            if (backend == null) {
                throw new AssertionError(name + " is not in force");
            }
            return backend;
        }
    }

    @TempDir
    private Path directory;

    private Path file;
    private final VirtualTimer timer = new VirtualTimer();
    private final OperatorChangeStore store = new OperatorChangeStore(timer, timer::nanos, timer::instant);
    private final RecentEvents recentEvents = new RecentEvents(timer::instant);
    private final RecordingTarget target = new RecordingTarget();
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    /** Held here, as by the application's context: the registry refers to the sources of gauges weakly. */
    private final MeterBook book = new MeterBook(registry);

    private boolean isDraining;
    /** Runs each time that the files are read. */
    private Runnable whileReading = () -> {};

    private LiveConfiguration configuration;

    @BeforeEach
    void start() throws IOException {
        file = Files.writeString(directory.resolve("gateway.yml"), YAML);
        ConfigurationReader reader = new ConfigurationReader(
                new StandardReactiveWebEnvironment(), "--spring.config.additional-location=file:" + file);
        configuration = new LiveConfiguration(
                reader.get(),
                () -> {
                    whileReading.run();
                    return reader.get();
                },
                target,
                () -> isDraining,
                store,
                timer::instant,
                new ReloadMeters(book, Instant.EPOCH),
                recentEvents,
                KeptConfigurations.in(directory.resolve("kept")));
        assertThat(configuration.inForce().report().problems()).isEmpty();
    }

    private void rewrite(String before, String after) {
        try {
            String yaml = Files.readString(file);
            assertThat(yaml).contains(before);
            Files.writeString(file, yaml.replace(before, after));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private ConfigurationChange reload() {
        ConfigurationChange change = configuration.reload(Trigger.REQUEST, "a test");
        assertThat(change.problems()).isEmpty();
        return change;
    }

    private void change(String name, String value, @Nullable Duration lasting) {
        Answer answer = configuration.change("orders", Map.of(name, value), "alice", lasting);
        assertThat(answer.problems()).isEmpty();
    }

    private int limit() {
        return target.backend("orders").bulkhead().maxConcurrentCalls().orElse(0);
    }

    private List<OperatorChangeView> shown() {
        return store.inForce().views().getOrDefault("orders", List.of());
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void endsALimitAfterItsTime(CapturedOutput output) {
        change("max-concurrent-calls", "20", TEN_MINUTES);

        assertThat(limit()).isEqualTo(20);
        assertThat(target.limited).containsExactly("orders");
        assertThat(shown())
                .containsExactly(new OperatorChangeView(
                        "bulkhead.max-concurrent-calls",
                        "20",
                        null,
                        "alice",
                        "1970-01-01T00:00:00Z",
                        "1970-01-01T00:10:00Z"));
        timer.advance(TEN_MINUTES.minusNanos(1));
        assertThat(limit()).isEqualTo(20);

        timer.advance(Duration.ofNanos(1));

        assertThat(limit()).isEqualTo(4);
        assertThat(target.limited).isEmpty();
        assertThat(shown()).isEmpty();
        assertThat(timer.tasks()).isZero();
        assertThat(configuration.history().changes())
                .extracting(ConfigurationChange::trigger)
                .containsExactly(Trigger.EXPIRY, Trigger.OPERATOR);
        assertThat(recentEvents.last())
                .extracting(event -> event.kind().word(), RecentEvents.Event::text, RecentEvents.Event::by)
                .containsExactly(
                        tuple(
                                "limit-changed",
                                "weir.backends.orders.bulkhead.max-concurrent-calls: 20 -> 4",
                                "the time that alice set"),
                        tuple(
                                "limit-changed",
                                "weir.backends.orders.bulkhead.max-concurrent-calls: 4 -> 20,"
                                        + " until 1970-01-01T00:10:00Z",
                                "alice"));
        assertThat(output.getAll())
                .contains("Configuration changed by alice (OPERATOR), until 1970-01-01T00:10:00Z; hash ")
                .contains("Change ended after its time: weir.backends.orders.bulkhead.max-concurrent-calls: 20,"
                        + " set by alice");
    }

    @Test
    void aLaterChangeOfTheSameLimitReplacesTheTimeOfTheFirst() {
        change("max-concurrent-calls", "20", TEN_MINUTES);
        change("max-concurrent-calls", "30", HOUR);
        change("deadline", "900ms", TEN_MINUTES);
        assertThat(timer.tasks()).isEqualTo(1);

        timer.advance(TEN_MINUTES);
        assertThat(limit()).isEqualTo(30);
        assertThat(target.backend("orders").deadline()).isEqualTo(Duration.ofSeconds(2));

        timer.advance(HOUR);
        assertThat(limit()).isEqualTo(4);
    }

    @Test
    void theSameValueWithAnotherTimeIsAChange() {
        change("max-concurrent-calls", "20", TEN_MINUTES);
        change("max-concurrent-calls", "20", HOUR);
        assertThat(recentEvents.last().getFirst().text())
                .isEqualTo("The limits were set to the values that they have, until 1970-01-01T01:00:00Z");
        change("max-concurrent-calls", "20", null);

        timer.advance(HOUR);

        assertThat(limit()).isEqualTo(20);
        assertThat(shown()).extracting(OperatorChangeView::until).containsOnlyNulls();
    }

    @Test
    void aReleaseEndsTheChangesOfItsBackendAndTheirTimes() {
        change("max-concurrent-calls", "20", TEN_MINUTES);
        change("deadline", "900ms", null);
        configuration.change("search", Map.of("deadline", "800ms"), "bob", null);
        Runnable late = timer.takeNext();

        assertThat(configuration.release("orders", "bob").changes()).hasSize(2);

        assertThat(limit()).isEqualTo(4);
        assertThat(target.backend("search").deadline()).isEqualTo(Duration.ofMillis(800));
        assertThat(timer.tasks()).isZero();
        // The timer's thread has taken its task, and the operator is first.
        change("max-concurrent-calls", "25", HOUR);
        late.run();
        assertThat(limit()).isEqualTo(25);
        assertThat(timer.tasks()).isEqualTo(1);
        assertThat(configuration.release("search", "bob").isOk()).isTrue();
        assertThat(configuration.release("search", "bob").changes()).isEmpty();
    }

    /** A deployment in the middle of an incident must not undo its mitigation. */
    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void aReloadKeepsChangesUntilTheyAreReleasedOrTheirTimeIsOver(CapturedOutput output) {
        change("max-concurrent-calls", "20", TEN_MINUTES);
        change("deadline", "900ms", null);
        rewrite("max-concurrent-calls: 4", "max-concurrent-calls: 5");
        rewrite("orders: { uri", "orders: { deadline: 3s, uri");

        assertThat(reload().differences()).isEmpty();

        assertThat(limit()).isEqualTo(20);
        assertThat(target.backend("orders").deadline()).isEqualTo(Duration.ofMillis(900));
        assertThat(target.limited).containsExactly("orders");
        assertThat(shown()).hasSize(2);
        assertThat(output.getAll())
                .contains("Change kept by the reload, in place of the files' value: weir.backends.orders.deadline:"
                        + " 900ms, set by alice")
                .contains("(REQUEST); hash " + configuration.state().hash() + ": operators' values hide it");
        timer.advance(TEN_MINUTES);
        assertThat(limit()).as("of the file").isEqualTo(5);
        assertThat(target.backend("orders").deadline()).isEqualTo(Duration.ofMillis(900));
        assertThat(configuration.release("orders", "bob").isOk()).isTrue();
        assertThat(target.backend("orders").deadline()).as("of the file").isEqualTo(Duration.ofSeconds(3));
        assertThat(shown()).isEmpty();
    }

    /** The timer is late. */
    @Test
    void aReloadDoesNotKeepAChangeWhoseTimeIsOver() {
        change("max-concurrent-calls", "20", TEN_MINUTES);
        timer.takeNext();

        reload();

        assertThat(limit()).isEqualTo(4);
        assertThat(shown()).isEmpty();
    }

    @Test
    void aRejectedReloadKeepsEachChange() {
        change("max-concurrent-calls", "20", TEN_MINUTES);
        change("deadline", "900ms", null);
        rewrite("max-concurrent-calls: 4", "max-concurrent-calls: 0");

        assertThat(configuration.reload(Trigger.WATCH, "file watch").problems()).hasSize(1);

        assertThat(limit()).isEqualTo(20);
        assertThat(shown()).hasSize(2);
        timer.advance(TEN_MINUTES);
        assertThat(limit()).isEqualTo(4);
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void aReloadThatRemovesTheBackendEndsItsChanges(CapturedOutput output) {
        change("max-concurrent-calls", "20", TEN_MINUTES);
        change("deadline", "900ms", null);
        String yaml = YAML.replaceAll("(?m)^.*orders.*\n", "");
        rewrite(YAML, yaml);
        reload();
        assertThat(shown()).isEmpty();
        assertThat(timer.tasks()).isZero();
        assertThat(output.getAll())
                .contains("Change ended by the reload, as its backend is gone:"
                        + " weir.backends.orders.bulkhead.max-concurrent-calls: 20, set by alice")
                .contains("as its backend is gone: weir.backends.orders.deadline: 900ms, set by alice");

        rewrite(yaml, YAML);
        reload();

        assertThat(limit()).isEqualTo(4);
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void aReloadEndsAChangeThatIsInvalidTogetherWithTheFiles(CapturedOutput output) {
        change("max-wait-duration", "1500ms", TEN_MINUTES);
        configuration.change("search", Map.of("max-concurrent-calls", "7"), "bob", TEN_MINUTES);
        rewrite("orders: { uri", "orders: { deadline: 1s, uri");

        reload();

        assertThat(target.backend("orders").deadline()).isEqualTo(Duration.ofSeconds(1));
        assertThat(shown()).isEmpty();
        assertThat(target.backend("search").bulkhead().maxConcurrentCalls().orElse(0))
                .isEqualTo(7);
        assertThat(output.getAll())
                .contains("Change ended by the reload, as it is invalid with the files:"
                        + " weir.backends.orders.bulkhead.max-wait-duration: 1500ms, set by alice");
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void endsAlsoAChangeThatIsInvalidWithoutAnotherOne(CapturedOutput output) {
        change("deadline", "5s", TEN_MINUTES);
        change("max-wait-duration", "4s", HOUR);

        timer.advance(TEN_MINUTES);

        assertThat(target.backend("orders").deadline()).isEqualTo(Duration.ofSeconds(2));
        assertThat(shown()).isEmpty();
        assertThat(output.getAll())
                .contains("Change ended, as it is invalid without another one:"
                        + " weir.backends.orders.bulkhead.max-wait-duration: 4s, set by alice");
    }

    @Test
    void triesAgainToEndAChangeThatCouldNotBeEnded() {
        change("max-concurrent-calls", "20", TEN_MINUTES);
        target.isFailing = true;
        timer.advance(TEN_MINUTES);
        assertThat(limit()).isEqualTo(20);
        assertThat(shown()).hasSize(1);
        target.isFailing = false;

        timer.advance(Duration.ofSeconds(10));

        assertThat(limit()).isEqualTo(4);
        assertThat(timer.tasks()).isZero();
    }

    @Test
    void aRejectedChangeLeavesTheTimeOfTheFirst() {
        change("max-concurrent-calls", "20", TEN_MINUTES);

        assertThat(configuration
                        .change("orders", Map.of("max-concurrent-calls", "0"), "alice", HOUR)
                        .problems())
                .hasSize(1);

        timer.advance(TEN_MINUTES);
        assertThat(limit()).isEqualTo(4);
    }

    @Test
    void aStopForgetsTheTimes() {
        change("max-concurrent-calls", "20", TEN_MINUTES);
        isDraining = true;
        timer.advance(HOUR);
        assertThat(limit()).isEqualTo(20);

        isDraining = false;
        change("max-concurrent-calls", "21", TEN_MINUTES);
        store.close();
        assertThat(timer.tasks()).isZero();
    }

    // ---------------------------------------------------------------- new backends

    private static final String NEW_BACKEND =
            "search: { uri: \"http://localhost:2\" }\n    stock: { uri: \"http://stock.invalid\" }";

    /** Another thread, since the reload's own holds each lock that it has. */
    private static <T> T elsewhere(Supplier<T> action) {
        return CompletableFuture.supplyAsync(action)
                .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .join();
    }

    @Test
    void operatorsChangeThingsWhileAReloadWaitsForDns() {
        target.whileWaiting = () -> {
            elsewhere(() -> {
                configuration.withoutReload(() -> target.prepared.add("forced"));
                return true;
            });
            assertThat(elsewhere(() -> configuration.change(
                                    "orders", Map.of("max-concurrent-calls", "20"), "alice", TEN_MINUTES))
                            .isOk())
                    .isTrue();
            assertThat(limit()).isEqualTo(20);
            elsewhere(() -> {
                configuration.renewConnections();
                return true;
            });
        };
        rewrite("search: { uri: \"http://localhost:2\" }", NEW_BACKEND);

        reload();

        assertThat(target.prepared).containsExactly("prepared [orders, search, stock]", "forced", "discarded");
        assertThat(target.backend("stock").uri()).hasHost("stock.invalid");
        assertThat(limit()).as("of the change during the reload").isEqualTo(20);
    }

    @Test
    void operatorsChangeLimitsWhileAReloadReadsAndKeepsFiles() {
        List<Boolean> changed = new ArrayList<>();
        whileReading = () -> changed.add(elsewhere(() -> configuration.change(
                        "orders", Map.of("max-concurrent-calls", String.valueOf(20 + changed.size())), "alice", null))
                .isOk());
        rewrite("search: { uri: \"http://localhost:2\" }", NEW_BACKEND);

        reload();

        assertThat(changed).as("changes while files were read").hasSize(2).containsOnly(true);
        assertThat(limit()).isEqualTo(21);
    }

    @Test
    void preparesNothingForFilesThatAreRejected() {
        rewrite("max-concurrent-calls: 4", "max-concurrent-calls: 0");
        configuration.reload(Trigger.WATCH, "file watch");
        isDraining = true;
        rewrite("max-concurrent-calls: 0", "max-concurrent-calls: 5");
        configuration.reload(Trigger.WATCH, "file watch");

        assertThat(target.prepared).isEmpty();
    }

    @Test
    void discardsWhatWasPreparedForAConfigurationThatCannotBeApplied() {
        target.isFailing = true;
        rewrite("search: { uri: \"http://localhost:2\" }", NEW_BACKEND);

        assertThat(configuration.reload(Trigger.WATCH, "file watch").problems())
                .containsExactly("configuration: cannot be applied: a file of certificates is missing");

        assertThat(target.prepared).hasSize(2).endsWith("discarded");
    }

    @Test
    void saysWhyAConfigurationCannotBeAppliedIfItCannotEvenBePrepared() {
        target.isFailing = true;
        target.whileWaiting = () -> {
            throw new IllegalStateException("no discovery client");
        };
        rewrite("search: { uri: \"http://localhost:2\" }", NEW_BACKEND);

        assertThat(configuration.reload(Trigger.WATCH, "file watch").problems())
                .containsExactly("configuration: cannot be applied: a file of certificates is missing");
    }

    // ---------------------------------------------------------------- hash

    private double hashMeter() {
        return registry.get("weir.configuration.hash").gauge().value();
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void showsTheHashOfTheFilesAndNotOfOperatorsChanges(CapturedOutput output) {
        String hash = configuration.state().hash();
        assertThat(hash).matches("[0-9a-f]{12}");
        assertThat(hashMeter()).isEqualTo((double) Long.parseLong(hash, 16));
        assertThat(configuration.state().operatorValues()).isZero();

        change("max-concurrent-calls", "20", null);

        assertThat(configuration.state().hash()).isEqualTo(hash);
        assertThat(configuration.state().operatorValues()).isEqualTo(1);
        configuration.release("orders", "alice");
        rewrite("max-concurrent-calls: 4", "max-concurrent-calls: 5");
        reload();
        String next = configuration.state().hash();
        assertThat(next).isNotEqualTo(hash);
        assertThat(hashMeter()).isEqualTo((double) Long.parseLong(next, 16));
        assertThat(output.getAll()).contains("(REQUEST); hash " + next + ":");
        rewrite("max-concurrent-calls: 5", "max-concurrent-calls: 4");
        reload();
        assertThat(configuration.state().hash()).isEqualTo(hash);
    }

    @Test
    void keepsTheHashOfTheConfigurationInForceIfTheFilesAreInvalid() {
        String hash = configuration.state().hash();
        rewrite("max-concurrent-calls: 4", "max-concurrent-calls: 0");

        configuration.reload(Trigger.WATCH, "file watch");

        assertThat(configuration.state().hash()).isEqualTo(hash);
    }
}
