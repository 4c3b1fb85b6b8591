package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.consumer.CircularEventConsumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class EventRingTest {

    private final EventRings<String> rings = new EventRings<>(event -> !event.isEmpty());

    @Test
    void keepsTheLastEventsOldestFirst() {
        CircularEventConsumer<String> ring = rings.createEventConsumer("orders", 3);

        assertThat(ring.getBufferedEvents()).isEmpty();
        ring.consumeEvent("1");
        ring.consumeEvent("2");
        assertThat(ring.getBufferedEvents()).containsExactly("1", "2");
        ring.consumeEvent("3");
        ring.consumeEvent("4");
        assertThat(ring.getBufferedEvents()).containsExactly("2", "3", "4");
        assertThat(ring.getBufferedEventsStream()).containsExactly("2", "3", "4");
    }

    @Test
    void doesNotStoreFilteredEvents() {
        CircularEventConsumer<String> ring = rings.createEventConsumer("orders", 2);

        ring.consumeEvent("1");
        for (int i = 0; i < 10; i++) {
            ring.consumeEvent("");
        }
        ring.consumeEvent("2");

        assertThat(ring.getBufferedEvents()).containsExactly("1", "2");
    }

    @Test
    void keepsTheEventsOfConcurrentWriters() {
        CircularEventConsumer<String> ring = rings.createEventConsumer("orders", 10_000);

        IntStream.range(0, 10_000).parallel().forEach(i -> ring.consumeEvent("e" + i));

        assertThat(ring.getBufferedEvents()).hasSize(10_000).doesNotHaveDuplicates();
    }

    @Test
    void findsARingByItsName() {
        CircularEventConsumer<String> orders = rings.createEventConsumer("orders", 3);
        rings.createEventConsumer("billing", 3);

        assertThat(rings.getEventConsumer("orders")).isSameAs(orders);
        assertThat(rings.getAllEventConsumer()).hasSize(2);
        assertThat(rings.removeEventConsumer("orders")).isSameAs(orders);
        assertThat(rings.getEventConsumer("orders")).isNull();
    }
}
