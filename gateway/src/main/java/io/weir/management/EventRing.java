package io.weir.management;

import io.github.resilience4j.consumer.CircularEventConsumer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The last events of one Resilience4j instance, for its endpoints.
 *
 * <p>Events are published on event loops, and Resilience4j's own buffer takes a lock for each. Here one
 * atomic increment assigns the event's slot.
 */
// Concurrency: a reader may miss an event that is being written; it sees no event twice.
final class EventRing<T> extends CircularEventConsumer<T> {

    private final AtomicReferenceArray<T> slots;
    private final Predicate<T> filter;
    private final AtomicLong written = new AtomicLong();

    /**
     * An empty ring.
     *
     * @param size maximum number of events
     * @param filter the events to keep
     */
    EventRing(int size, Predicate<T> filter) {
        // The smallest buffer that the superclass permits; it is not used.
        super(1);
        this.slots = new AtomicReferenceArray<>(size);
        this.filter = filter;
    }

    @Override
    public void consumeEvent(T event) {
        if (filter.test(event)) {
            slots.set((int) (written.getAndIncrement() % slots.length()), event);
        }
    }

    /** The last events, oldest first. */
    @Override
    public List<T> getBufferedEvents() {
        long next = written.get();
        List<T> events = new ArrayList<>();
        for (long index = Math.max(0, next - slots.length()); index < next; index++) {
            T event = slots.get((int) (index % slots.length()));
            if (event != null) {
                events.add(event);
            }
        }
        return events;
    }

    @Override
    public Stream<T> getBufferedEventsStream() {
        return getBufferedEvents().stream();
    }
}
