package io.weir.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import javax.management.InstanceAlreadyExistsException;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;

/**
 * Creates the gateway's {@link Meters} and MBeans, and removes them with the route or backend that they tell about.
 *
 * <p>When the configuration changes, a route or backend and its successor of the same name live side by side for a
 * while: the old one ends what it has begun. A meter registry knows names only, so the old one's end would take the new
 * one's meters with it, and a new gauge would go on telling about the old one. Here each meter belongs to all {@link
 * Page}s that have asked for it: a gauge tells about the one that asked last, a counter or timer goes on counting, and the
 * end of the last page removes it. A successor that comes to nothing gives back what it has taken over.
 */
// Concurrency: everything is guarded by the book's monitor, which is held for as long as a meter takes to be created or
// removed: at the start, at a change of configuration, and once for each outcome that a route has.
public final class MeterBook {

    private static final Duration[] BUCKETS = Meters.BUCKETS.toArray(Duration[]::new);

    private final MeterRegistry registry;
    private final MBeanServer beans;
    private final Map<Key, Held> held = new HashMap<>();

    /** A book that registers MBeans with the JVM's server. */
    public MeterBook(MeterRegistry registry) {
        this(registry, ManagementFactory.getPlatformMBeanServer());
    }

    MeterBook(MeterRegistry registry, MBeanServer beans) {
        this.registry = registry;
        this.beans = beans;
    }

    /** An empty page, for one route, one backend, or the edge. */
    public MeterScope open() {
        return new MeterScope();
    }

    private record Key(String name, List<String> tagValues) {}

    /**
     * Something that is shown.
     *
     * @param claims whose it is, and what it is to show for each; it shows the last one's
     * @param showing has it show an owner's
     * @param removal when the last owner is gone
     */
    private record Held(SequencedMap<MeterScope, Object> claims, Consumer<Object> showing, Runnable removal) {

        Held(Consumer<Object> showing, Runnable removal) {
            this(new LinkedHashMap<>(), showing, removal);
        }
    }

    /** What a gauge reads, whoever owns it. A registry refers to it weakly: it lives by what is {@link Held}. */
    private static final class Source implements DoubleSupplier {

        private volatile DoubleSupplier now;

        Source(DoubleSupplier now) {
            this.now = now;
        }

        void show(Object value) {
            now = (DoubleSupplier) value;
        }

        @Override
        public double getAsDouble() {
            return now.getAsDouble();
        }
    }

    /** The meters and MBeans of one owner. */
    public final class MeterScope implements AutoCloseable {

        private final Set<Key> keys = new HashSet<>();
        private boolean closed;

        private MeterScope() {}

        /** A timer with the {@linkplain Meters#BUCKETS usual buckets}. */
        Timer timer(Meters meter, String... tagValues) {
            return open(timerIfOpen(meter, tagValues), meter);
        }

        /** The same; null once the page is closed. */
        @Nullable
        Timer timerIfOpen(Meters meter, String... tagValues) {
            Tags tags = tags(meter, Meters.Kind.TIMER, tagValues);
            return shared(
                    meter,
                    tagValues,
                    () -> Timer.builder(meter.meterName())
                            .description(meter.meaning())
                            .tags(tags)
                            .serviceLevelObjectives(BUCKETS)
                            .register(registry));
        }

        /** A counter. */
        Counter counter(Meters meter, String... tagValues) {
            return open(counterIfOpen(meter, tagValues), meter);
        }

        /** The same; null once the page is closed. */
        @Nullable
        Counter counterIfOpen(Meters meter, String... tagValues) {
            Tags tags = tags(meter, Meters.Kind.COUNTER, tagValues);
            return shared(
                    meter,
                    tagValues,
                    () -> Counter.builder(meter.meterName())
                            .description(meter.meaning())
                            .baseUnit(meter.unit())
                            .tags(tags)
                            .register(registry));
        }

        /** A counter that something else counts. */
        void counter(Meters meter, DoubleSupplier count, String... tagValues) {
            Tags tags = tags(meter, Meters.Kind.COUNTER, tagValues);
            exclusive(
                    meter,
                    count,
                    tagValues,
                    source -> FunctionCounter.builder(meter.meterName(), source, Source::getAsDouble)
                            .description(meter.meaning())
                            .baseUnit(meter.unit())
                            .tags(tags)
                            .register(registry));
        }

        /** A gauge. */
        void gauge(Meters meter, Supplier<Number> value, String... tagValues) {
            Tags tags = tags(meter, Meters.Kind.GAUGE, tagValues);
            exclusive(
                    meter,
                    () -> value.get().doubleValue(),
                    tagValues,
                    source -> Gauge.builder(meter.meterName(), source, Source::getAsDouble)
                            .description(meter.meaning())
                            .baseUnit(meter.unit())
                            .tags(tags)
                            .register(registry));
        }

        /** Takes a gauge back, if there is one of this owner's. */
        void removeGauge(Meters meter, String... tagValues) {
            synchronized (MeterBook.this) {
                Key key = new Key(meter.meterName(), List.of(tagValues));
                if (keys.remove(key)) {
                    release(key);
                }
            }
        }

        /** An MXBean. */
        void bean(ObjectName name, Object bean) {
            synchronized (MeterBook.this) {
                checkOpen(name);
                Key key = new Key(name.getCanonicalName(), List.of());
                claim(key, held(key, () -> new Held(shown -> register(name, shown), () -> unregister(name))), bean);
            }
        }

        /** Removes what nobody else has asked for. */
        @Override
        public void close() {
            synchronized (MeterBook.this) {
                closed = true;
                keys.forEach(this::release);
                keys.clear();
            }
        }

        private <M extends Meter> @Nullable M shared(Meters meter, String[] tagValues, Supplier<M> creation) {
            synchronized (MeterBook.this) {
                if (closed) {
                    return null;
                }
                M created = creation.get();
                Key key = new Key(meter.meterName(), List.of(tagValues));
                claim(key, held(key, () -> new Held(any -> {}, () -> registry.remove(created))), created);
                return created;
            }
        }

        private void exclusive(
                Meters meter, DoubleSupplier value, String[] tagValues, Function<Source, Meter> creation) {
            synchronized (MeterBook.this) {
                checkOpen(meter);
                Key key = new Key(meter.meterName(), List.of(tagValues));
                // Not removed and made anew: Prometheus may be reading, would find both, and be refused.
                Held shown = held(key, () -> {
                    Source source = new Source(value);
                    Meter created = creation.apply(source);
                    return new Held(source::show, () -> registry.remove(created));
                });
                claim(key, shown, value);
            }
        }

        private Held held(Key key, Supplier<Held> creation) {
            Held known = held.get(key);
            return known == null ? creation.get() : known;
        }

        private void claim(Key key, Held what, Object value) {
            what.showing().accept(value);
            what.claims().remove(this);
            what.claims().put(this, value);
            held.put(key, what);
            keys.add(key);
        }

        private void release(Key key) {
            Held what = held.get(key);
            if (what == null || what.claims().isEmpty()) {
                return;
            }
            boolean shown = what.claims().lastEntry().getKey() == this;
            what.claims().remove(this);
            if (what.claims().isEmpty()) {
                held.remove(key);
                what.removal().run();
            } else if (shown) {
                what.showing().accept(what.claims().lastEntry().getValue());
            }
        }

        private void checkOpen(Object what) {
            if (closed) {
                throw new IllegalStateException(what + ": asked for by an owner that is gone");
            }
        }

        private <M> M open(@Nullable M created, Meters meter) {
            if (created == null) {
                throw new IllegalStateException(meter + ": asked for by an owner that is gone");
            }
            return created;
        }
    }

    private void register(ObjectName name, Object bean) {
        try {
            try {
                beans.registerMBean(bean, name);
            } catch (InstanceAlreadyExistsException e) {
                // Another gateway in this JVM; the latest one shows.
                beans.unregisterMBean(name);
                beans.registerMBean(bean, name);
            }
        } catch (JMException e) {
            throw new IllegalStateException("MBean " + name + " cannot be registered", e);
        }
    }

    private void unregister(ObjectName name) {
        try {
            beans.unregisterMBean(name);
        } catch (InstanceNotFoundException e) {
            // Another gateway in this JVM took the name, and is gone too.
        } catch (JMException e) {
            throw new IllegalStateException("MBean " + name + " cannot be unregistered", e);
        }
    }

    private static Tags tags(Meters meter, Meters.Kind kind, String... values) {
        List<String> keys = meter.tags();
        if (meter.kind() != kind || keys.size() != values.length) {
            throw new IllegalArgumentException(
                    meter + ": " + kind + List.of(values) + " (expected: " + meter.kind() + keys + ")");
        }
        String[] pairs = new String[2 * values.length];
        for (int i = 0; i < values.length; i++) {
            pairs[2 * i] = keys.get(i);
            pairs[2 * i + 1] = values[i];
        }
        return Tags.of(pairs);
    }
}
