package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.health.Health;
import io.weir.management.OperatorChange.Subject;
import io.weir.testing.ObservedGateway;
import io.weir.testing.VirtualTimer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** One store for the changes of properties, breakers and instances, and their ends. */
class OperatorChangeStoreTest {

    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final VirtualTimer timer = new VirtualTimer();
    private final OperatorChangeStore store = new OperatorChangeStore(timer, timer::nanos, timer::instant);
    private final ObservedGateway fixture = new ObservedGateway();

    @AfterEach
    void close() {
        fixture.close();
    }

    private OperatorChange property(String path, String value, @Nullable Duration lasting) {
        return new OperatorChange(new Subject("orders", path, null), value, "alice", store.term(lasting), null);
    }

    private OperatorChange breaker(@Nullable Duration lasting) {
        Health health = fixture.health;
        return new OperatorChange(Subject.breaker("orders"), "open", "bob", store.term(lasting), health);
    }

    private void put(OperatorChange change) {
        store.update(changes -> changes.with(List.of(change)));
    }

    @Test
    void showsPropertiesBehindBreakersInTheOrderOfTheirNames() {
        put(property("max-streams", "3", null));
        put(property("deadline", "1s", null));
        put(breaker(null));

        assertThat(store.inForce().views().get("orders"))
                .extracting(OperatorChangeView::change)
                .containsExactly("breaker", "deadline", "max-streams");
    }

    @Test
    void replacesPropertiesAndKeepsTheOtherChanges() {
        put(property("deadline", "1s", null));
        put(breaker(MINUTE));

        store.replaceProperties(new HeldChanges(List.of(property("max-streams", "3", null))));

        assertThat(store.inForce().views().get("orders"))
                .extracting(OperatorChangeView::change)
                .containsExactly("breaker", "max-streams");
        assertThat(timer.tasks()).isEqualTo(1);
    }

    @Test
    void wakesUpAllEndersAtTheFirstEndAndTriesAgainIfOneFails() {
        List<String> ended = new ArrayList<>();
        store.addEnder(() -> {
            throw new IllegalStateException("the first ender fails, in this test");
        });
        store.addEnder(() -> {
            HeldChanges due = store.over().ofProperties();
            due.lines().forEach(ended::add);
            store.update(changes -> changes.without(due));
        });
        put(breaker(MINUTE));
        put(property("deadline", "1s", MINUTE));
        put(property("max-streams", "3", MINUTE.multipliedBy(2)));
        assertThat(timer.tasks()).isEqualTo(1);

        timer.advance(MINUTE);

        assertThat(ended).containsExactly("weir.backends.orders.deadline: 1s, set by alice");
        assertThat(store.over().all()).as("not ended").hasSize(1);
        timer.advance(Duration.ofSeconds(9));
        put(property("deadline", "2s", Duration.ofSeconds(1)));
        timer.advance(Duration.ofSeconds(1));
        assertThat(ended).hasSize(2);
        timer.advance(MINUTE);
        assertThat(ended).last().asString().contains("max-streams");
        assertThat(timer.tasks()).as("another try").isEqualTo(1);
    }
}
