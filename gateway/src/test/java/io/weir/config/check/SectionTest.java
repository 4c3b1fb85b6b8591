package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.weir.config.BackendProperties;
import io.weir.config.InstanceProperties;
import io.weir.config.RouteProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.ValidValues.Entry;
import io.weir.fallback.FallbackProperties;
import io.weir.limit.BulkheadProperties;
import io.weir.outcome.Reason;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class SectionTest {

    private static final SourceLocation LINE = SourceLocation.inFile("gateway.yml", 1);

    private final ValidValues values = new ValidValues();
    private final Section<WeirProperties> weir = Section.weir(values);
    private final Section<BackendProperties> backend = weir.in(WeirProperties::backends, "orders");

    @Test
    void namesAPropertyAsItsComponent() {
        assertThat(backend.in(BackendProperties::bulkhead).pathOf(BulkheadProperties::maxConcurrentCalls))
                .isEqualTo("weir.backends.orders.bulkhead.max-concurrent-calls");
        assertThat(backend.at(BackendProperties::instances, "2").pathOf(InstanceProperties::uri))
                .isEqualTo("weir.backends.orders.instances[2].uri");
    }

    @Test
    void distinguishesConfiguredValuesFromDefaults() {
        values.put("weir.backends.orders.deadline", new Entry(Duration.ofSeconds(2), LINE, backend.path(), null));
        values.put("weir.backends.orders.max-streams", new Entry(3, LINE, backend.path(), "3"));

        assertThat(backend.value(BackendProperties::deadline)).hasValue(Duration.ofSeconds(2));
        assertThat(backend.explicit(BackendProperties::deadline)).isEmpty();
        assertThat(backend.explicit(BackendProperties::maxStreams)).isPresent();
        assertThat(backend.value(BackendProperties::uri)).isEmpty();
    }

    @Test
    void readsMapsAndSets() {
        Section<FallbackProperties> fallback =
                weir.in(WeirProperties::routes, "a.b").in(RouteProperties::fallback);
        values.addName("weir.routes", "a.b", LINE);
        values.put(
                "weir.routes.a.b.fallback.reasons",
                new Entry(List.of(Reason.CIRCUIT_OPEN), LINE, fallback.path(), "circuit-open"));

        assertThat(weir.each(WeirProperties::routes)
                        .map(route -> route.getValue().path()))
                .containsExactly("weir.routes.a.b");
        assertThat(fallback.list(FallbackProperties::reasons)).containsExactly(Reason.CIRCUIT_OPEN);
    }

    @Test
    void refusesWhatIsNoAccessor() {
        assertThatIllegalStateException()
                .isThrownBy(() -> backend.get(any -> any.deadline()))
                .withMessageContaining("expected: a reference to an accessor");
    }
}
