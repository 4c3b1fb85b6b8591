package io.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.limit.LittlesLaw;
import io.weir.limit.QueueingBulkhead;
import io.weir.testing.ObservedGateway;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;

class MeterBookTest {

    private static final ObjectName NAME = LittlesLawBean.nameOf("orders");

    private final MeterRegistry registry = new SimpleMeterRegistry();
    private final MBeanServer beans = MBeanServerFactory.newMBeanServer();
    private final MeterBook book = new MeterBook(registry, beans);

    @Test
    void removesAScopesMetersWhenItCloses() {
        MeterScope scope = book.open();
        scope.counter(BackendMeter.SHED, "orders", "circuit-open", "normal");
        scope.timerIfOpen(BackendMeter.QUEUE_WAIT, "orders");
        scope.gauge(BackendMeter.PERMITS_USED, () -> 1, "orders");
        scope.counter(GatewayMeter.CONNECTIONS_REJECTED, () -> 1);
        scope.bean(NAME, bean(1));
        assertThat(registry.getMeters())
                .extracting(meter -> meter.getId().getName())
                .contains("weir.shed", "weir.queue.wait", "weir.permits.used", "weir.connections.rejected");
        assertThat(beans.isRegistered(NAME)).isTrue();

        scope.close();

        assertThat(registry.getMeters()).isEmpty();
        assertThat(beans.isRegistered(NAME)).isFalse();
    }

    @Test
    void showsASuccessorsGaugeAtOnceAndAfterItsPredecessorCloses() {
        MeterScope before = book.open();
        before.gauge(BackendMeter.PERMITS_LIMIT, () -> 10, "orders");
        MeterScope after = book.open();

        Gauge shown = registry.get("weir.permits.limit").gauge();
        after.gauge(BackendMeter.PERMITS_LIMIT, () -> 20, "orders");

        // The same meter: otherwise a concurrent scrape would find two of one name, and fail.
        assertThat(registry.get("weir.permits.limit").gauge()).isSameAs(shown);
        assertThat(ObservedGateway.value(registry, BackendMeter.PERMITS_LIMIT)).isEqualTo(20);
        before.close();
        assertThat(ObservedGateway.value(registry, BackendMeter.PERMITS_LIMIT)).isEqualTo(20);
        after.close();
        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void continuesAPredecessorsCounter() {
        MeterScope before = book.open();
        Counter old = before.counter(BackendMeter.SHED, "orders", "circuit-open", "normal");
        old.increment();
        MeterScope after = book.open();
        after.counter(BackendMeter.SHED, "orders", "circuit-open", "normal").increment();
        before.close();

        // The predecessor still counts, after it has closed.
        old.increment();

        assertThat(ObservedGateway.value(registry, BackendMeter.SHED)).isEqualTo(3);
    }

    @Test
    void showsThePredecessorAgainAfterItsSuccessorCloses() throws JMException {
        MeterScope before = book.open();
        Counter counter = before.counter(BackendMeter.SHED, "orders", "circuit-open", "normal");
        Timer timer = Objects.requireNonNull(before.timerIfOpen(BackendMeter.QUEUE_WAIT, "orders"));
        before.gauge(BackendMeter.PERMITS_LIMIT, () -> 10, "orders");
        before.counter(GatewayMeter.CONNECTIONS_REJECTED, () -> 3);
        before.bean(NAME, bean(1));
        MeterScope after = book.open();
        after.counter(BackendMeter.SHED, "orders", "circuit-open", "normal").increment();
        after.timerIfOpen(BackendMeter.QUEUE_WAIT, "orders");
        after.gauge(BackendMeter.PERMITS_LIMIT, () -> 20, "orders");
        after.counter(GatewayMeter.CONNECTIONS_REJECTED, () -> 4);
        after.bean(NAME, bean(2));

        after.close();

        counter.increment();
        timer.record(Duration.ofMillis(1));
        assertThat(ObservedGateway.value(registry, BackendMeter.SHED)).isEqualTo(2);
        assertThat(registry.get("weir.queue.wait").timer().count()).isEqualTo(1);
        assertThat(ObservedGateway.value(registry, BackendMeter.PERMITS_LIMIT)).isEqualTo(10);
        assertThat(ObservedGateway.value(registry, GatewayMeter.CONNECTIONS_REJECTED))
                .isEqualTo(3);
        assertThat(beans.getAttribute(NAME, "Limit")).isEqualTo(1);
        before.close();
        assertThat(registry.getMeters()).isEmpty();
        assertThat(beans.isRegistered(NAME)).isFalse();
    }

    @Test
    void removesAGaugeOfItsOwnScopeOnly() {
        MeterScope before = book.open();
        before.gauge(BackendMeter.PERMITS_LIMIT, () -> 10, "orders");
        MeterScope after = book.open();
        after.removeGauge(BackendMeter.PERMITS_LIMIT, "orders");
        assertThat(ObservedGateway.value(registry, BackendMeter.PERMITS_LIMIT)).isEqualTo(10);

        after.gauge(BackendMeter.PERMITS_LIMIT, () -> 20, "orders");
        before.removeGauge(BackendMeter.PERMITS_LIMIT, "orders");
        assertThat(ObservedGateway.value(registry, BackendMeter.PERMITS_LIMIT)).isEqualTo(20);
        after.removeGauge(BackendMeter.PERMITS_LIMIT, "orders");

        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void showsASuccessorsBean() throws JMException {
        MeterScope before = book.open();
        before.bean(NAME, bean(1));
        MeterScope after = book.open();
        after.bean(NAME, bean(2));

        before.close();

        assertThat(beans.getAttribute(NAME, "Limit")).isEqualTo(2);
    }

    @Test
    void replacesTheBeanOfAnotherGatewayInTheSameJvm() throws JMException {
        MeterScope here = book.open();
        MeterScope there = new MeterBook(new SimpleMeterRegistry(), beans).open();
        here.bean(NAME, bean(1));

        there.bean(NAME, bean(2));

        assertThat(beans.getAttribute(NAME, "Limit")).isEqualTo(2);
        there.close();
        here.close();
        assertThat(beans.isRegistered(NAME)).isFalse();
    }

    @Test
    void keepsTheSourceOfAShownCounterReachable() {
        WeakReference<AtomicLong> counted = count(book.open());
        System.gc();
        AtomicLong alive = counted.get();

        assertThat(alive).isNotNull();
        alive.set(7);
        assertThat(ObservedGateway.value(registry, GatewayMeter.CONNECTIONS_REJECTED))
                .isEqualTo(7);
    }

    private static WeakReference<AtomicLong> count(MeterScope scope) {
        AtomicLong rejected = new AtomicLong(3);
        scope.counter(GatewayMeter.CONNECTIONS_REJECTED, rejected::get);
        return new WeakReference<>(rejected);
    }

    @Test
    void createsNothingForAClosedScope() {
        MeterScope scope = book.open();
        scope.close();

        assertThat(scope.timerIfOpen(BackendMeter.QUEUE_WAIT, "orders")).isNull();
        assertThat(scope.counterIfOpen(BackendMeter.SHED, "orders", "circuit-open", "normal"))
                .isNull();
        AtomicBoolean read = new AtomicBoolean();
        assertThatIllegalStateException()
                .isThrownBy(() -> scope.gauge(GatewayMeter.IN_FLIGHT, () -> {
                    read.set(true);
                    return 1;
                }));
        assertThat(registry.getMeters()).isEmpty();
        assertThat(read).isFalse();
    }

    @Test
    void rejectsAnotherKindOrOtherTagsThanDefined() {
        MeterScope scope = book.open();

        assertThatIllegalArgumentException()
                .isThrownBy(() -> scope.counter(BackendMeter.SHED, "orders"))
                .withMessage("SHED: COUNTER[orders] (expected: COUNTER[backend, reason, priority])");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> scope.timerIfOpen(BackendMeter.SHED, "orders", "circuit-open", "normal"));
    }

    private static LittlesLawBean bean(int limit) {
        return new LittlesLawBean(() -> new LittlesLaw.Figures(0, 0, 0, 0, 0, 0), new QueueingBulkhead(limit, 0));
    }
}
