package io.weir.management;

import io.github.resilience4j.consumer.CircularEventConsumer;
import io.github.resilience4j.consumer.EventConsumerRegistry;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The last events of each Resilience4j instance, by the instance's name; an event takes no lock.
 *
 * @param <T> the type of the events
 */
public final class EventRings<T> implements EventConsumerRegistry<T> {

    private final Map<String, CircularEventConsumer<T>> rings = new ConcurrentHashMap<>();
    private final Predicate<T> filter;

    /**
     * A registry without rings.
     *
     * @param filter the events to keep
     */
    public EventRings(Predicate<T> filter) {
        this.filter = filter;
    }

    @Override
    public CircularEventConsumer<T> createEventConsumer(String id, int bufferSize) {
        CircularEventConsumer<T> ring = new EventRing<>(bufferSize, filter);
        rings.put(id, ring);
        return ring;
    }

    @Override
    public @Nullable CircularEventConsumer<T> removeEventConsumer(String id) {
        return rings.remove(id);
    }

    @Override
    public @Nullable CircularEventConsumer<T> getEventConsumer(String id) {
        return rings.get(id);
    }

    @Override
    public List<CircularEventConsumer<T>> getAllEventConsumer() {
        return List.copyOf(rings.values());
    }
}
