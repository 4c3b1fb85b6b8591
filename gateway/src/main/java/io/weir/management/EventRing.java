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
 * <p>Resilience4j's own buffer takes a lock for each event, and events are published on event loops. Here one atomic increment finds a place.
 *
 * <p>Concurrency: whoever reads while others write may miss an event that is being put down, and sees none twice.
 */
final class EventRing<T> extends CircularEventConsumer<T> {

    private final AtomicReferenceArray<T> places;
    private final Predicate<T> keeps;
    private final AtomicLong written = new AtomicLong();

    /**
     * A ring without events.
     *
     * @param size events that are kept
     * @param keeps which may be
     */
    EventRing(int size, Predicate<T> keeps) {
        // The buffer that it does without is no larger than it must be.
        super(1);
        this.places = new AtomicReferenceArray<>(size);
        this.keeps = keeps;
    }

    @Override
    public void consumeEvent(T event) {
        if (keeps.test(event)) {
            places.set((int) (written.getAndIncrement() % places.length()), event);
        }
    }

    /** Oldest first. */
    @Override
    public List<T> getBufferedEvents() {
        long next = written.get();
        List<T> events = new ArrayList<>();
        for (long at = Math.max(0, next - places.length()); at < next; at++) {
            T event = places.get((int) (at % places.length()));
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
