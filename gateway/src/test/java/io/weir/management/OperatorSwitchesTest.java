package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.weir.engine.Backend;
import io.weir.engine.BackendObserver;
import io.weir.health.Health;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.testing.ObservedGateway;
import io.weir.testing.VirtualTimer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Changes of breakers and instances with a time to live, and each event that can come before its end. */
class OperatorSwitchesTest {

    private static final Duration TEN_MINUTES = Duration.ofMinutes(10);
    private static final Duration HOUR = Duration.ofHours(1);
    private static final List<String> REPLICAS = List.of("10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80");

    private static final OperatorChanges NO_LIMITS = new OperatorChanges() {

        @Override
        public Answer change(String backend, Map<String, String> limits, String by, @Nullable Duration lasting) {
            throw new AssertionError("no limit is changed");
        }

        @Override
        public Answer release(String backend, String by) {
            throw new AssertionError("no limit is changed");
        }

        @Override
        public void withoutReload(Runnable action) {
            action.run();
        }
    };

    private final VirtualTimer timer = new VirtualTimer();
    private final RecentEvents recentEvents = new RecentEvents(timer::instant);
    private final ObservedGateway fixture = new ObservedGateway();
    private final Backend orders = fixture.backend(BackendObserver.NONE);
    private Map<String, Backend> backends = Map.of("orders", orders);
    private final OperatorChangeStore store = new OperatorChangeStore(timer, timer::nanos, timer::instant);
    private final OperatorSwitches switches = new OperatorSwitches(() -> backends, NO_LIMITS, store, recentEvents);

    @AfterEach
    void close() {
        fixture.close();
    }

    private String state() {
        return Health.stateWord(fixture.health.state());
    }

    private List<OperatorChangeView> shown() {
        return switches.inForce().getOrDefault("orders", List.of());
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void releasesAForcedBreakerAfterItsTime(CapturedOutput output) {
        switches.force(orders, "open", "alice", TEN_MINUTES);

        assertThat(shown())
                .containsExactly(new OperatorChangeView(
                        "breaker", "open", null, "alice", "1970-01-01T00:00:00Z", "1970-01-01T00:10:00Z"));
        timer.advance(TEN_MINUTES.minusNanos(1));
        assertThat(state()).isEqualTo("forced-open");

        timer.advance(Duration.ofNanos(1));

        assertThat(state()).isEqualTo("closed");
        assertThat(shown()).isEmpty();
        assertThat(timer.tasks()).isZero();
        assertThat(recentEvents.last())
                .extracting(event -> event.kind().word(), RecentEvents.Event::text, RecentEvents.Event::by)
                .containsExactly(
                        tuple("breaker-released", "The breaker was released: the time that alice set is over", null),
                        tuple("breaker-forced", "The breaker was forced open, until 1970-01-01T00:10:00Z", "alice"));
        assertThat(output.getAll())
                .contains("Breaker of backend orders forced by alice: open; it was closed and is forced-open,"
                        + " until 1970-01-01T00:10:00Z")
                .contains("Breaker of backend orders released after the time that alice set: it was forced-open and is"
                        + " closed");
    }

    @Test
    void aLaterChangeReplacesTheTimeOfTheFirst() {
        switches.force(orders, "open", "alice", TEN_MINUTES);
        switches.force(orders, "closed", "bob", HOUR);
        assertThat(timer.tasks()).isEqualTo(1);

        timer.advance(TEN_MINUTES);
        assertThat(state()).isEqualTo("forced-closed");
        assertThat(shown()).extracting(OperatorChangeView::by).containsExactly("bob");

        timer.advance(HOUR);
        assertThat(state()).isEqualTo("closed");
    }

    @Test
    void aLaterChangeWithoutATimeHasNoEnd() {
        switches.force(orders, "open", "alice", TEN_MINUTES);
        switches.force(orders, "open", "bob", null);

        timer.advance(HOUR);

        assertThat(state()).isEqualTo("forced-open");
        assertThat(shown())
                .extracting(OperatorChangeView::by, OperatorChangeView::until)
                .containsExactly(tuple("bob", null));
        assertThat(timer.tasks()).isZero();
    }

    @Test
    void aReleaseCancelsTheTime() {
        switches.force(orders, "open", "alice", TEN_MINUTES);
        switches.force(orders, "released", "alice", null);
        assertThat(timer.tasks()).isZero();
        fixture.health.resilience4j().transitionToOpenState();

        timer.advance(HOUR);

        assertThat(state()).as("the breaker's own state").isEqualTo("open");
    }

    /** The timer's thread has taken its task, and the operator is first. */
    @Test
    void anEndThatComesAfterAReleaseOrAnotherChangeDoesNothing() {
        switches.force(orders, "open", "alice", TEN_MINUTES);
        Runnable late = timer.takeNext();
        switches.force(orders, "released", "alice", null);
        switches.force(orders, "open", "bob", HOUR);

        late.run();

        assertThat(state()).isEqualTo("forced-open");
        assertThat(timer.tasks()).isEqualTo(1);
        timer.advance(HOUR);
        assertThat(state()).isEqualTo("closed");
    }

    @Test
    void leavesAStateThatWasReachedInAnotherWay() {
        switches.force(orders, "open", "alice", TEN_MINUTES);
        fixture.health.resilience4j().transitionToOpenState();
        fixture.health.operator().release();
        fixture.health.resilience4j().transitionToOpenState();
        assertThat(shown()).isEmpty();

        timer.advance(TEN_MINUTES);

        assertThat(state()).isEqualTo("open");
    }

    @Test
    void aBackendThatAReloadRemovesTakesItsChangeAlong() {
        switches.force(orders, "open", "alice", TEN_MINUTES);
        backends = Map.of();
        timer.advance(TEN_MINUTES);
        assertThat(state()).as("of a backend that only its last calls use").isEqualTo("forced-open");
        assertThat(shown()).isEmpty();
    }

    @Test
    void aLaterBackendOfTheSameNameIsNotReleased() {
        switches.force(orders, "open", "alice", TEN_MINUTES);
        try (ObservedGateway later = new ObservedGateway()) {
            backends = Map.of("orders", later.backend(BackendObserver.NONE));
            later.health.operator().forceOpen();

            timer.advance(TEN_MINUTES);

            assertThat(Health.stateWord(later.health.state())).isEqualTo("forced-open");
            assertThat(shown()).isEmpty();
        }
    }

    @Test
    void endsEachOfSeveralChangesAtItsTime() {
        Instances instances = fixture.instances(REPLICAS);
        Backend replicated = fixture.backend(BackendObserver.NONE, instances);
        backends = Map.of("orders", replicated);
        Instance first = instances.all().getFirst();
        Instance second = instances.all().get(1);
        switches.drain(replicated, first, "alice", HOUR);
        switches.drain(replicated, second, "bob", TEN_MINUTES);
        assertThat(timer.tasks()).isEqualTo(1);
        assertThat(shown())
                .extracting(OperatorChangeView::change, OperatorChangeView::instance, OperatorChangeView::until)
                .containsExactly(
                        tuple("instance", "http://10.0.0.1:80", "1970-01-01T01:00:00Z"),
                        tuple("instance", "http://10.0.0.2:80", "1970-01-01T00:10:00Z"));

        timer.advance(TEN_MINUTES);
        assertThat(first.health().word()).isEqualTo("drained");
        assertThat(second.health().word()).isEqualTo("half-open");

        timer.advance(HOUR);
        assertThat(first.health().word()).isEqualTo("half-open");
        assertThat(recentEvents.last().getFirst().text())
                .isEqualTo("Instance http://10.0.0.1:80 was returned: the time that alice set is over");
    }

    @Test
    void drainsAgainOnlyToReplaceTheTime() {
        Instances instances = fixture.instances(REPLICAS);
        Backend replicated = fixture.backend(BackendObserver.NONE, instances);
        backends = Map.of("orders", replicated);
        Instance first = instances.all().getFirst();

        switches.drain(replicated, first, "alice", TEN_MINUTES);
        switches.drain(replicated, first, "bob", HOUR);
        timer.advance(TEN_MINUTES);
        assertThat(first.health().word()).isEqualTo("drained");
        switches.drain(replicated, first, "carol", null);
        switches.drain(replicated, first, "carol", null);

        timer.advance(HOUR);
        assertThat(first.health().word()).isEqualTo("drained");
        assertThat(recentEvents.last())
                .extracting(RecentEvents.Event::text)
                .containsExactly(
                        "Instance http://10.0.0.1:80 stays drained until it is returned",
                        "Instance http://10.0.0.1:80 stays drained, until 1970-01-01T01:00:00Z",
                        "Instance http://10.0.0.1:80 was drained, until 1970-01-01T00:10:00Z");
    }

    @Test
    void anInstanceThatHasLeftIsNotReturned() {
        Instances instances = fixture.instances(REPLICAS);
        Backend replicated = fixture.backend(BackendObserver.NONE, instances);
        backends = Map.of("orders", replicated);
        Instance first = instances.all().getFirst();
        switches.drain(replicated, first, "alice", TEN_MINUTES);

        backends = Map.of("orders", fixture.backend(BackendObserver.NONE, fixture.instances(REPLICAS)));
        timer.advance(TEN_MINUTES);

        assertThat(first.health().word()).isEqualTo("drained");
        assertThat(shown()).isEmpty();
    }

    @Test
    void aStopForgetsTheTime() {
        switches.force(orders, "open", "alice", TEN_MINUTES);

        store.close();

        assertThat(timer.tasks()).isZero();
        switches.force(orders, "closed", "alice", TEN_MINUTES);
        assertThat(timer.tasks()).isZero();
    }
}
