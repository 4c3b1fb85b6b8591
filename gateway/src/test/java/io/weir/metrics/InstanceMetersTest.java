package io.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.LoadBalancingProperties;
import io.weir.testing.ObservedGateway;
import java.net.URI;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class InstanceMetersTest {

    private static final long MS = 1_000_000;

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final ObservedGateway fixture = new ObservedGateway();
    private final MeterScope scope = new MeterBook(registry).open();
    private final InstanceMeters meters = new InstanceMeters(scope, "orders");

    @AfterEach
    void close() {
        scope.close();
        fixture.close();
        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void showsTheLoadTheResultsAndTheStateOfEachInstance() {
        Instances instances = fixture.instances(List.of("a:1", "b:2"));
        meters.show(instances);
        Instance second = instances.all().get(1);
        fixture.bulkhead.tryAcquire();
        second.health().enter(fixture.clock.get(), true);
        second.served(20 * MS, fixture.clock.get());
        second.served(10 * MS, fixture.clock.get());
        second.failed(MS, fixture.clock.get());

        assertThat(value(BackendMeter.INSTANCE_IN_FLIGHT, "b:2")).isEqualTo(1);
        assertThat(value(BackendMeter.INSTANCE_IN_FLIGHT, "a:1")).isZero();
        assertThat(value(BackendMeter.INSTANCE_WEIGHT, "a:1")).isEqualTo(1);
        assertThat(value(BackendMeter.INSTANCE_CALLS, "b:2", "outcome", "answered"))
                .isEqualTo(2);
        assertThat(value(BackendMeter.INSTANCE_CALLS, "b:2", "outcome", "failed"))
                .isEqualTo(1);
        // The peak falls by a tenth of the difference with each faster answer.
        assertThat(value(BackendMeter.INSTANCE_LATENCY, "b:2")).isEqualTo(.019);
        assertThat(value(BackendMeter.INSTANCE_LATENCY, "a:1")).isZero();
        assertThat(value(BackendMeter.INSTANCE_CONNECTIONS, "b:2", "state", "acquired"))
                .isZero();
        assertState("b:2", "closed");

        second.health().resilience4j().transitionToOpenState();
        assertState("b:2", "open");
        assertState("a:1", "closed");
        assertThat(value(BackendMeter.INSTANCE_EJECTIONS, "b:2")).isEqualTo(1);
        second.health().operator().drain();
        assertState("b:2", "drained");
        assertThat(value(BackendMeter.INSTANCE_EJECTIONS, "a:1")).isZero();
    }

    @Test
    void countsTheCallsUnderWayOfADrainedInstance() {
        Instances instances = fixture.instances(List.of("a:1", "b:2"));
        meters.show(instances);
        Instance first = instances.all().getFirst();
        first.health().enter(fixture.clock.get(), true);

        first.health().operator().drain();

        assertThat(value(BackendMeter.INSTANCE_IN_FLIGHT, "a:1")).isEqualTo(1);
    }

    @Test
    void showsNothingOfASingleInstance() {
        meters.show(Instances.of(new Instance(URI.create("http://a:1"), fixture.pool, fixture.health)));

        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void removesTheSeriesOfInstancesThatHaveLeft() {
        Instances before = fixture.instances(List.of("a:1", "b:2", "c:3"));
        meters.show(before);
        before.all().get(1).served(MS, fixture.clock.get());
        int each = registry.getMeters().size() / 3;

        meters.show(instances(List.of(before.all().get(1), before.all().get(2))));

        assertThat(registry.getMeters()).hasSize(2 * each);
        assertThat(value(BackendMeter.INSTANCE_CALLS, "b:2", "outcome", "answered"))
                .isEqualTo(1);
        meters.show(fixture.instances(List.of("c:3", "d:4")));
        assertThat(registry.getMeters())
                .extracting(meter -> meter.getId().getTag("instance"))
                .containsOnly("c:3", "d:4");
        meters.show(Instances.of(new Instance(URI.create("http://d:4"), fixture.pool, fixture.health)));
        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void boundsTheTagsAndSumsTheRest() {
        List<Instance> all = fixture.instances(IntStream.range(0, 300)
                        .mapToObj(i -> "orders-" + i + ":80")
                        .toList())
                .all();
        meters.show(instances(all));
        assertThat(registry.getMeters().stream()
                        .map(meter -> meter.getId().getTag("instance"))
                        .distinct())
                .hasSize(InstanceMeters.MAX_ADDRESSES + 1)
                .contains(InstanceMeters.OTHERS, "orders-255:80")
                .doesNotContain("orders-256:80");
        all.get(256).served(MS, fixture.clock.get());
        all.get(299).served(3 * MS, fixture.clock.get());
        all.get(299).health().resilience4j().transitionToOpenState();

        assertThat(value(BackendMeter.INSTANCE_CALLS, "others", "outcome", "answered"))
                .isEqualTo(2);
        assertThat(value(BackendMeter.INSTANCE_LATENCY, "others")).isEqualTo(.003);
        assertThat(value(BackendMeter.INSTANCE_WEIGHT, "others")).isEqualTo(44);
        assertThat(value(BackendMeter.INSTANCE_STATE, "others", "state", "closed"))
                .isEqualTo(43);
        assertThat(value(BackendMeter.INSTANCE_STATE, "others", "state", "open"))
                .isEqualTo(1);

        // The first ten leave. The tags of those that stay do not change.
        meters.show(instances(all.subList(10, 300)));
        assertThat(value(BackendMeter.INSTANCE_WEIGHT, "orders-255:80")).isEqualTo(1);
        assertThat(value(BackendMeter.INSTANCE_WEIGHT, "orders-265:80")).isEqualTo(1);
        assertThat(value(BackendMeter.INSTANCE_WEIGHT, "others")).isEqualTo(34);
    }

    /** It gets no share of the calls: so it does not look as if it lost its share. */
    @Test
    void showsTheWeightOfABackupAsZero() {
        Instances instances = fixture.instances(List.of("a:1", "b:2"));
        Instance second = instances.all().get(1);
        meters.show(instances(List.of(instances.first(), second.with(3, true, second.pool()))));

        assertThat(value(BackendMeter.INSTANCE_WEIGHT, "a:1")).isEqualTo(1);
        assertThat(value(BackendMeter.INSTANCE_WEIGHT, "b:2")).isZero();
    }

    private Instances instances(List<Instance> some) {
        return Instances.of(some, fixture.health, LoadBalancingProperties.defaults(), bound -> 0, opened -> {});
    }

    private void assertState(String instance, String expected) {
        for (String state : InstanceMeters.STATES) {
            assertThat(value(BackendMeter.INSTANCE_STATE, instance, "state", state))
                    .as(state)
                    .isEqualTo(state.equals(expected) ? 1 : 0);
        }
    }

    private double value(Meters meter, String instance, String... tags) {
        String[] all = new String[tags.length + 2];
        all[0] = "instance";
        all[1] = instance;
        System.arraycopy(tags, 0, all, 2, tags.length);
        return ObservedGateway.value(registry, meter, all);
    }
}
