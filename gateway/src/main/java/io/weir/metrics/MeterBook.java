package io.weir.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.management.InstanceAlreadyExistsException;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Keeps the owners of each of the gateway's {@link Meters} and MBeans, and removes a meter with its last
 * owner.
 *
 * <p>After a change of the configuration, a route or backend and its successor of the same name exist at the
 * same time, until the exchanges of the old one have ended. A meter registry identifies a meter by name and
 * tags only: the end of the old route would remove the meters of the new one, and a gauge would keep reading
 * the old backend. So each meter here has a list of owners, the {@link MeterScope}s that created it. A gauge
 * reads the value of its latest owner; a counter or timer keeps its count from owner to owner. If a successor
 * closes before its predecessor, the gauge reads the predecessor again.
 */
// Concurrency: everything is guarded by the book's monitor, which is held while a meter is created or
// removed: at the start, at a change of the configuration, and once for each outcome of a route.
public final class MeterBook {

    private final MeterRegistry registry;
    private final MBeanServer beanServer;
    private final Map<MeterKey, OwnedMeter> meters = new HashMap<>();

    /** A book that registers MBeans with the platform's MBean server. */
    public MeterBook(MeterRegistry registry) {
        this(registry, ManagementFactory.getPlatformMBeanServer());
    }

    /** A book that registers MBeans with another server. */
    public MeterBook(MeterRegistry registry, MBeanServer beanServer) {
        this.registry = registry;
        this.beanServer = beanServer;
    }

    /** A new owner without meters: one route, one backend, or the gateway as a whole. */
    public MeterScope open() {
        return new MeterScope(this, registry);
    }

    /** Identifies a meter or MBean. */
    record MeterKey(String name, List<String> tagValues) {}

    /**
     * A meter or MBean with its owners.
     *
     * @param values the value of each owner; the last one is shown
     * @param display shows an owner's value
     * @param removal runs when the last owner has closed
     */
    record OwnedMeter(SequencedMap<MeterScope, Object> values, Consumer<Object> display, Runnable removal) {

        OwnedMeter(Consumer<Object> display, Runnable removal) {
            this(new LinkedHashMap<>(), display, removal);
        }
    }

    /**
     * Makes a scope the latest owner of a meter, which is created if there is none. The caller holds the
     * monitor.
     */
    void claim(MeterKey key, MeterScope owner, Object value, Supplier<OwnedMeter> creation) {
        OwnedMeter known = meters.get(key);
        OwnedMeter meter = known == null ? creation.get() : known;
        meter.display().accept(value);
        // Removed first: a put alone would keep the owner's old position.
        meter.values().remove(owner);
        meter.values().put(owner, value);
        meters.put(key, meter);
    }

    /** Removes a scope from the owners of a meter. The caller holds the monitor. */
    void release(MeterKey key, MeterScope owner) {
        OwnedMeter meter = meters.get(key);
        if (meter == null || meter.values().isEmpty()) {
            return;
        }
        boolean isShown = meter.values().lastEntry().getKey() == owner;
        meter.values().remove(owner);
        if (meter.values().isEmpty()) {
            meters.remove(key);
            meter.removal().run();
        } else if (isShown) {
            meter.display().accept(meter.values().lastEntry().getValue());
        }
    }

    /** Registers an MBean, in place of another one of the same name. */
    void register(ObjectName name, Object bean) {
        try {
            try {
                beanServer.registerMBean(bean, name);
            } catch (InstanceAlreadyExistsException e) {
                // Another gateway in this JVM has registered it; the latest one is shown.
                beanServer.unregisterMBean(name);
                beanServer.registerMBean(bean, name);
            }
        } catch (JMException e) {
            throw new IllegalStateException("MBean " + name + " cannot be registered", e);
        }
    }

    void unregister(ObjectName name) {
        try {
            beanServer.unregisterMBean(name);
        } catch (InstanceNotFoundException e) {
            // Another gateway in this JVM replaced the bean, and has closed since.
        } catch (JMException e) {
            throw new IllegalStateException("MBean " + name + " cannot be unregistered", e);
        }
    }
}
