package io.weir.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.weir.metrics.MeterBook.MeterKey;
import io.weir.metrics.MeterBook.OwnedMeter;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;

/**
 * Creates the meters and MBeans of one owner, such as a route or a backend, and removes them when it closes.
 *
 * <p>Every meter is one of {@link Meters}, with a value for each of its tags.
 */
// Concurrency: guarded by the monitor of the book.
public final class MeterScope implements AutoCloseable {

    private static final Duration[] BUCKETS = MeterDefinition.BUCKETS.toArray(Duration[]::new);

    private final MeterBook book;
    private final MeterRegistry registry;
    private final Set<MeterKey> keys = new HashSet<>();
    private boolean isClosed;

    MeterScope(MeterBook book, MeterRegistry registry) {
        this.book = book;
        this.registry = registry;
    }

    /**
     * The value that a gauge reads: that of the present owner. The registry refers to the source weakly,
     * {@link OwnedMeter} strongly.
     */
    private static final class Source implements DoubleSupplier {

        private volatile DoubleSupplier value;

        Source(DoubleSupplier value) {
            this.value = value;
        }

        void show(Object next) {
            value = (DoubleSupplier) next;
        }

        @Override
        public double getAsDouble() {
            return value.getAsDouble();
        }
    }

    /**
     * A timer with the {@linkplain MeterDefinition#BUCKETS buckets of all timers}; null if the scope is
     * closed.
     */
    @Nullable
    Timer timerIfOpen(Meters meter, String... tagValues) {
        Tags tags = tags(meter, MeterDefinition.Kind.TIMER, tagValues);
        return share(
                meter,
                tagValues,
                () -> Timer.builder(meter.definition().meterName())
                        .description(meter.definition().description())
                        .tags(tags)
                        .serviceLevelObjectives(BUCKETS)
                        .register(registry));
    }

    /**
     * A counter.
     *
     * @throws IllegalStateException if the scope is closed
     */
    Counter counter(Meters meter, String... tagValues) {
        return requireOpen(counterIfOpen(meter, tagValues), meter);
    }

    /** A counter; null if the scope is closed. */
    @Nullable
    Counter counterIfOpen(Meters meter, String... tagValues) {
        Tags tags = tags(meter, MeterDefinition.Kind.COUNTER, tagValues);
        return share(
                meter,
                tagValues,
                () -> Counter.builder(meter.definition().meterName())
                        .description(meter.definition().description())
                        .baseUnit(meter.definition().unit())
                        .tags(tags)
                        .register(registry));
    }

    /**
     * A counter that reads a count kept elsewhere.
     *
     * @throws IllegalStateException if the scope is closed
     */
    void counter(Meters meter, DoubleSupplier count, String... tagValues) {
        Tags tags = tags(meter, MeterDefinition.Kind.COUNTER, tagValues);
        show(
                meter,
                count,
                tagValues,
                source -> FunctionCounter.builder(meter.definition().meterName(), source, Source::getAsDouble)
                        .description(meter.definition().description())
                        .baseUnit(meter.definition().unit())
                        .tags(tags)
                        .register(registry));
    }

    /**
     * A gauge.
     *
     * @throws IllegalStateException if the scope is closed
     */
    void gauge(Meters meter, Supplier<Number> value, String... tagValues) {
        Tags tags = tags(meter, MeterDefinition.Kind.GAUGE, tagValues);
        show(
                meter,
                () -> value.get().doubleValue(),
                tagValues,
                source -> Gauge.builder(meter.definition().meterName(), source, Source::getAsDouble)
                        .description(meter.definition().description())
                        .baseUnit(meter.definition().unit())
                        .tags(tags)
                        .register(registry));
    }

    /** Removes this scope's gauge, or counter of a count kept elsewhere; no effect if it has none. */
    void removeGauge(Meters meter, String... tagValues) {
        synchronized (book) {
            MeterKey key = new MeterKey(meter.definition().meterName(), List.of(tagValues));
            if (keys.remove(key)) {
                book.release(key, this);
            }
        }
    }

    /**
     * An MXBean.
     *
     * @throws IllegalStateException if the scope is closed
     */
    void bean(ObjectName name, Object bean) {
        synchronized (book) {
            requireOpen(name);
            claim(
                    new MeterKey(name.getCanonicalName(), List.of()),
                    bean,
                    () -> new OwnedMeter(shown -> book.register(name, shown), () -> book.unregister(name)));
        }
    }

    /** Removes the meters that have no other owner. */
    @Override
    public void close() {
        synchronized (book) {
            isClosed = true;
            keys.forEach(key -> book.release(key, this));
            keys.clear();
        }
    }

    /** A meter on which all owners count together. */
    private <M extends Meter> @Nullable M share(Meters meter, String[] tagValues, Supplier<M> creation) {
        synchronized (book) {
            if (isClosed) {
                return null;
            }
            M created = creation.get();
            claim(
                    new MeterKey(meter.definition().meterName(), List.of(tagValues)),
                    created,
                    () -> new OwnedMeter(any -> {}, () -> registry.remove(created)));
            return created;
        }
    }

    /** A meter that shows the value of its latest owner. */
    private void show(Meters meter, DoubleSupplier value, String[] tagValues, Function<Source, Meter> creation) {
        synchronized (book) {
            requireOpen(meter);
            // The meter is kept and its source changed: during a removal and a new creation, a Prometheus
            // scrape would find two meters of one name, and fail.
            claim(new MeterKey(meter.definition().meterName(), List.of(tagValues)), value, () -> {
                Source source = new Source(value);
                Meter created = creation.apply(source);
                return new OwnedMeter(source::show, () -> registry.remove(created));
            });
        }
    }

    private void claim(MeterKey key, Object value, Supplier<OwnedMeter> creation) {
        book.claim(key, this, value, creation);
        keys.add(key);
    }

    private void requireOpen(Object requested) {
        if (isClosed) {
            throw new IllegalStateException(requested + ": requested of a closed scope (expected: an open one)");
        }
    }

    private static <M> M requireOpen(@Nullable M created, Meters meter) {
        if (created == null) {
            throw new IllegalStateException(meter + ": requested of a closed scope (expected: an open one)");
        }
        return created;
    }

    private static Tags tags(Meters meter, MeterDefinition.Kind kind, String... values) {
        List<String> keys = meter.definition().tags();
        if (meter.definition().kind() != kind || keys.size() != values.length) {
            throw new IllegalArgumentException(meter + ": " + kind + List.of(values) + " (expected: "
                    + meter.definition().kind() + keys + ")");
        }
        String[] pairs = new String[2 * values.length];
        for (int i = 0; i < values.length; i++) {
            pairs[2 * i] = keys.get(i);
            pairs[2 * i + 1] = values[i];
        }
        return Tags.of(pairs);
    }
}
