package io.weir.management;

import io.github.resilience4j.consumer.CircularEventConsumer;
import io.github.resilience4j.consumer.EventConsumerRegistry;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The last events of each Resilience4j instance, by its name, kept without a lock.
 *
 * @param <T> of these events
 */
public final class EventRings<T> implements EventConsumerRegistry<T> {

    private final Map<String, CircularEventConsumer<T>> rings = new ConcurrentHashMap<>();
    private final Predicate<T> keeps;

    /**
     * Without any ring.
     *
     * @param keeps the events that have a place; the others would take it from them
     */
    public EventRings(Predicate<T> keeps) {
        this.keeps = keeps;
    }

    @Override
    public CircularEventConsumer<T> createEventConsumer(String id, int bufferSize) {
        CircularEventConsumer<T> ring = new EventRing<>(bufferSize, keeps);
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
