package io.weir.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.faults.InjectedFaults.RefusedOrderException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class InjectedFaultsTest {

    private static final String ONE = "http://10.0.0.1:80";
    private static final String TWO = "http://10.0.0.2:80";

    private final List<String> reports = new ArrayList<>();
    private final List<Scheduled> timers = new ArrayList<>();
    private final HttpHeaders head = new DefaultHttpHeaders();
    private long now = Long.MAX_VALUE - 1_000;
    private double drawn;
    private @Nullable ActiveFaults published;
    private final InjectedFaults faults = faults(true);

    /** A timer that the test fires. */
    private static final class Scheduled {
        private final Runnable task;
        private final Duration delay;
        private boolean isCancelled;

        Scheduled(Runnable task, Duration delay) {
            this.task = task;
            this.delay = delay;
        }
    }

    private InjectedFaults faults(boolean enabled) {
        return new InjectedFaults(
                new FaultInjectionProperties(enabled, Duration.ofMinutes(10)),
                active -> published = active,
                new InjectedFaults.Listener() {
                    @Override
                    public void started(InjectedFault fault) {
                        reports.add("started " + fault.number() + " by " + fault.by());
                    }

                    @Override
                    public void ended(InjectedFault fault, @Nullable String by) {
                        reports.add("ended " + fault.number() + " by " + by);
                    }
                },
                (task, delayNanos) -> {
                    Scheduled timer = new Scheduled(task, Duration.ofNanos(delayNanos));
                    timers.add(timer);
                    return () -> timer.isCancelled = true;
                },
                () -> now,
                () -> Instant.EPOCH,
                () -> drawn);
    }

    private static FaultOrder order(FaultScope scope, FaultType type, double percent, @Nullable String header) {
        return new FaultOrder(
                scope, type, percent, header, header == null ? null : "1", null, 0, 0, Duration.ofSeconds(30));
    }

    private static FaultOrder hang(FaultScope scope) {
        return order(scope, FaultType.HANG, 100, null);
    }

    private static FaultScope backend(String name) {
        return new FaultScope(null, name, null);
    }

    private @Nullable InjectedFault chosen(@Nullable String route, String backend, String instance) {
        return published == null ? null : published.choose(route, backend, instance, head, false, now);
    }

    @Test
    void actsOnTheCallsOfItsBackendOnly() {
        InjectedFault fault = faults.start(hang(backend("orders")), "alice");

        assertThat(chosen("a", "orders", ONE)).isSameAs(fault);
        assertThat(chosen(null, "orders", TWO)).isSameAs(fault);
        assertThat(chosen("a", "search", ONE)).isNull();
        assertThat(fault.calls()).isEqualTo(2);
    }

    @Test
    void actsOnTheCallsOfItsRouteOnly() {
        InjectedFault fault = faults.start(hang(new FaultScope("a", null, null)), "alice");

        assertThat(chosen("a", "orders", ONE)).isSameAs(fault);
        assertThat(chosen("b", "orders", ONE)).isNull();
        assertThat(chosen(null, "orders", ONE)).as("the gateway's own request").isNull();
    }

    @Test
    void actsOnTheCallsThatChoseItsInstanceOnly() {
        InjectedFault fault = faults.start(hang(new FaultScope(null, "orders", ONE)), "alice");

        assertThat(chosen("a", "orders", ONE)).isSameAs(fault);
        assertThat(chosen("a", "orders", TWO)).isNull();
        assertThat(chosen("a", "search", ONE)).isNull();
    }

    @Test
    void actsOnRequestsWithItsHeaderOnly() {
        InjectedFault fault = faults.start(order(backend("orders"), FaultType.HANG, 100, "X-Chaos"), "alice");

        assertThat(chosen("a", "orders", ONE)).isNull();
        head.set("x-chaos", "2");
        assertThat(chosen("a", "orders", ONE)).isNull();
        head.set("x-chaos", "1");
        assertThat(chosen("a", "orders", ONE)).isSameAs(fault);
    }

    @Test
    void actsOnItsShareOfTheCalls() {
        InjectedFault fault = faults.start(order(backend("orders"), FaultType.HANG, 25, null), "alice");

        drawn = 0.25;
        assertThat(chosen("a", "orders", ONE)).isNull();
        drawn = 0.249;
        assertThat(chosen("a", "orders", ONE)).isSameAs(fault);
    }

    @Test
    void triesTheNextFaultForACallThatTheFirstOneSpares() {
        InjectedFault first = faults.start(order(backend("orders"), FaultType.HANG, 25, null), "alice");
        InjectedFault second = faults.start(order(backend("orders"), FaultType.RESET, 100, null), "alice");

        drawn = 0.5;
        assertThat(chosen("a", "orders", ONE)).isSameAs(second);
        drawn = 0;
        assertThat(chosen("a", "orders", ONE)).isSameAs(first);
    }

    @Test
    void truncatesNoAnswerWhoseHeadAloneMatters() {
        faults.start(order(backend("orders"), FaultType.TRUNCATE, 100, null), "alice");

        assertThat(published).isNotNull();
        assertThat(published.choose("a", "orders", ONE, head, true, now)).isNull();
    }

    /** Even if the timer is late. The clock overflows meanwhile, as System.nanoTime may. */
    @Test
    void healsByItselfAtItsEnd() {
        faults.start(hang(backend("orders")), "alice");

        now += Duration.ofSeconds(30).toNanos() - 1;
        assertThat(chosen("a", "orders", ONE)).isNotNull();
        now++;
        assertThat(chosen("a", "orders", ONE)).isNull();

        assertThat(timers).hasSize(1);
        assertThat(timers.getFirst().delay).isEqualTo(Duration.ofSeconds(30));
        timers.getFirst().task.run();
        assertThat(published).as("free when off").isNull();
        assertThat(faults.active()).isEmpty();
        assertThat(reports).containsExactly("started 1 by alice", "ended 1 by null");
    }

    @Test
    void isEndedOnce() {
        InjectedFault fault = faults.start(hang(backend("orders")), "alice");

        assertThat(faults.end(fault.number(), "bob")).isSameAs(fault);
        assertThat(timers.getFirst().isCancelled).isTrue();
        assertThat(faults.end(fault.number(), "bob")).isNull();
        // A timer that was already running.
        timers.getFirst().task.run();

        assertThat(reports).containsExactly("started 1 by alice", "ended 1 by bob");
        assertThat(published).isNull();
    }

    @Test
    void goesOnWithTheOthersWhenOneEnds() {
        faults.start(hang(backend("orders")), "alice");
        InjectedFault other = faults.start(hang(backend("search")), "alice");

        faults.end(1, "bob");

        assertThat(faults.active()).containsExactly(other);
        assertThat(chosen("a", "orders", ONE)).isNull();
        assertThat(chosen("a", "search", ONE)).isSameAs(other);
    }

    @Test
    void endsAll() {
        faults.start(hang(backend("orders")), "alice");
        faults.start(hang(backend("search")), "alice");

        assertThat(faults.endAll("bob")).hasSize(2);

        assertThat(published).isNull();
        assertThat(timers).allMatch(timer -> timer.isCancelled);
        assertThat(reports).endsWith("ended 1 by bob", "ended 2 by bob");
        assertThat(faults.endAll("bob")).isEmpty();
    }

    @Test
    void tellsNobodyWhenTheGatewayStops() {
        faults.start(hang(backend("orders")), "alice");

        faults.close();

        assertThat(timers.getFirst().isCancelled).isTrue();
        assertThat(published).isNull();
        assertThat(reports).containsExactly("started 1 by alice");
    }

    @Test
    void startsNothingUnlessEnabled() {
        InjectedFaults disabled = faults(false);

        assertThatThrownBy(() -> disabled.start(hang(backend("orders")), "alice"))
                .isInstanceOfSatisfying(
                        RefusedOrderException.class,
                        e -> assertThat(e.why()).isEqualTo(RefusedOrderException.Cause.DISABLED))
                .hasMessage("weir.faults.enabled: false (expected: true; needs a restart)");
        assertThat(disabled.endAll("alice")).isEmpty();
        assertThat(timers).isEmpty();
    }

    @Test
    void startsNoFaultThatIsTooLong() {
        FaultOrder tooLong =
                new FaultOrder(backend("orders"), FaultType.HANG, 100, null, null, null, 0, 0, Duration.ofMinutes(11));

        assertThatThrownBy(() -> faults.start(tooLong, "alice"))
                .isInstanceOfSatisfying(
                        RefusedOrderException.class,
                        e -> assertThat(e.why()).isEqualTo(RefusedOrderException.Cause.INVALID))
                .hasMessage("duration: 660s (expected: at most weir.faults.max-duration, 600s)");
    }

    @Test
    void startsABoundedNumberOfFaults() {
        for (int i = 0; i < InjectedFaults.MAX_ACTIVE; i++) {
            faults.start(hang(backend("orders")), "alice");
        }

        assertThatThrownBy(() -> faults.start(hang(backend("orders")), "alice"))
                .isInstanceOfSatisfying(
                        RefusedOrderException.class,
                        e -> assertThat(e.why()).isEqualTo(RefusedOrderException.Cause.FULL));
        faults.end(3, "alice");
        assertThat(faults.start(hang(backend("orders")), "alice").number())
                .as("a number is never used again")
                .isEqualTo(InjectedFaults.MAX_ACTIVE + 1);
    }
}
