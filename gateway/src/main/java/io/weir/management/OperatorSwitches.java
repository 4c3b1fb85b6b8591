package io.weir.management;

import io.weir.engine.Backend;
import io.weir.health.Health;
import io.weir.instance.Instance;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The breakers that operators force and the instances that they drain: makes these changes, logs them, shows
 * those that are in force, and ends those whose time is over.
 *
 * <p>A change belongs to the {@link Health} whose state it holds. If that health has gone, since a reload has
 * removed the backend or an instance has left, the change has ended: a later backend of the same name is not
 * released by it.
 */
// Concurrency: guarded by its monitor. A change takes effect and is entered while the monitor is held, so the
// end of a time finds either the change that it belongs to, or a later one, or none. The callers of the
// methods that change something, and the end of a time, hold OperatorChanges.withoutReload outside of it.
public final class OperatorSwitches implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(OperatorSwitches.class);

    private static final String BREAKER = "breaker";

    /** The subject of a change: a breaker, or one of several instances. */
    private record Subject(String backend, @Nullable String instance) {

        @Override
        public String toString() {
            return instance == null
                    ? "Breaker of backend " + backend
                    : "Instance " + instance + " of backend " + backend;
        }
    }

    /**
     * A change in force.
     *
     * @param value {@code open}, {@code closed} or {@code drained}
     * @param end null: an operator ends it
     */
    private record Held(
            Health health,
            String value,
            String by,
            Instant since,
            @Nullable Expiry end) {}

    private final Supplier<Map<String, Backend>> backends;
    private final OperatorChanges changes;
    private final RecentEvents recentEvents;
    private final LongSupplier nanoClock;
    private final InstantSource clock;
    private final ExpiryTimer timer;
    private final Map<Subject, Held> held = new LinkedHashMap<>();

    /**
     * No changes.
     *
     * @param backends the backends in force, by name
     * @param changes excludes a change of the configuration
     * @param nanoClock {@link System#nanoTime}, except in tests
     * @param clock the times that are shown
     */
    public OperatorSwitches(
            Supplier<Map<String, Backend>> backends,
            OperatorChanges changes,
            RecentEvents recentEvents,
            ExpiryTimer.Scheduler scheduler,
            LongSupplier nanoClock,
            InstantSource clock) {
        this.backends = backends;
        this.changes = changes;
        this.recentEvents = recentEvents;
        this.nanoClock = nanoClock;
        this.clock = clock;
        this.timer = new ExpiryTimer(scheduler, nanoClock, this::endDue);
    }

    /**
     * Forces or releases a breaker. Ends the change before, and its time.
     *
     * @param word {@code open}, {@code closed} or {@code released}
     * @param lasting the time after which the breaker is released; null: none
     */
    synchronized void force(Backend backend, String word, String by, @Nullable Duration lasting) {
        Health health = backend.health();
        Subject breaker = new Subject(backend.name(), null);
        String before = Health.stateWord(health.state());
        switch (word) {
            case "open" -> health.operator().forceOpen();
            case "closed" -> health.operator().forceClosed();
            default -> health.operator().release();
        }
        boolean isRelease = word.equals("released");
        String until = "";
        if (isRelease) {
            leave(breaker);
        } else {
            until = enter(breaker, health, word, by, lasting);
        }
        log.warn(
                "Breaker of backend {} forced by {}: {}; it was {} and is {}{}",
                backend.name(),
                by,
                word,
                before,
                Health.stateWord(health.state()),
                until);
        recentEvents.add(
                isRelease ? RecentEvents.Kind.BREAKER_RELEASED : RecentEvents.Kind.BREAKER_FORCED,
                backend.name(),
                isRelease ? "The breaker was released" : "The breaker was forced " + word + until,
                by);
    }

    /**
     * Drains an instance. One that is drained already keeps its state; its time to live is replaced.
     *
     * @param lasting the time after which the instance is returned; null: none
     */
    synchronized void drain(Backend backend, Instance instance, String by, @Nullable Duration lasting) {
        Subject subject = new Subject(backend.name(), instance.shownAddress());
        Health health = instance.health();
        if (!health.isDrained()) {
            String before = health.word();
            int active = instance.inFlight();
            health.operator().drain();
            String until = enter(subject, health, Health.DRAINED, by, lasting);
            logInstance(subject, "drained", by, before, active, health, until);
            recentEvents.add(
                    RecentEvents.Kind.INSTANCE_DRAINED,
                    backend.name(),
                    "Instance " + instance.shownAddress() + " was drained" + until,
                    by);
        } else if (lasting != null || hasEnd(subject)) {
            String until = enter(subject, health, Health.DRAINED, by, lasting);
            String stays = until.isEmpty() ? " stays drained until it is returned" : " stays drained" + until;
            log.warn("{}{}, by {}", subject, stays, by);
            recentEvents.add(
                    RecentEvents.Kind.INSTANCE_DRAINED,
                    backend.name(),
                    "Instance " + instance.shownAddress() + stays,
                    by);
        }
    }

    /** Returns a drained instance; no effect on any other one. */
    synchronized void restore(Backend backend, Instance instance, String by) {
        Subject subject = new Subject(backend.name(), instance.shownAddress());
        Health health = instance.health();
        if (health.isDrained()) {
            String before = health.word();
            int active = instance.inFlight();
            instance.restore();
            leave(subject);
            logInstance(subject, "returned", by, before, active, health, "");
            recentEvents.add(
                    RecentEvents.Kind.INSTANCE_RETURNED,
                    backend.name(),
                    "Instance " + instance.shownAddress() + " was returned",
                    by);
        }
    }

    private static void logInstance(
            Subject subject, String done, String by, String before, int active, Health health, String until) {
        log.warn(
                "{} {} by {}: it was {} with {} calls under way, and is {}{}",
                subject,
                done,
                by,
                before,
                active,
                health.word(),
                until);
    }

    /** The changes in force, by backend, the oldest first. */
    public synchronized Map<String, List<OperatorChangeView>> inForce() {
        if (held.isEmpty()) {
            return Map.of();
        }
        forgetThoseThatAreGone();
        Map<String, List<OperatorChangeView>> shown = new HashMap<>();
        held.forEach((subject, change) -> shown.computeIfAbsent(subject.backend(), any -> new ArrayList<>())
                .add(new OperatorChangeView(
                        subject.instance() == null ? BREAKER : "instance",
                        change.value(),
                        subject.instance(),
                        change.by(),
                        change.since().toString(),
                        Expiry.shown(change.end()))));
        return shown;
    }

    /** The gateway stops: changes stay as they are, and no time ends any more. */
    @Override
    public void close() {
        timer.close();
    }

    /** Enters a change, and returns the words for its end; none if it has no end. */
    private String enter(Subject subject, Health health, String value, String by, @Nullable Duration lasting) {
        Instant since = clock.instant().truncatedTo(ChronoUnit.SECONDS);
        Expiry end = Expiry.of(lasting, since, nanoClock.getAsLong());
        // Removed first, so that the map is in the order of the changes.
        held.remove(subject);
        held.put(subject, new Held(health, value, by, since, end));
        forgetThoseThatAreGone();
        timer.set(nextEnd());
        return Expiry.words(end);
    }

    private void leave(Subject subject) {
        held.remove(subject);
        timer.set(nextEnd());
    }

    private boolean hasEnd(Subject subject) {
        Held change = held.get(subject);
        return change != null && change.end() != null;
    }

    private OptionalLong nextEnd() {
        return Expiry.first(held.values().stream().map(Held::end).flatMap(Stream::ofNullable), nanoClock.getAsLong());
    }

    /** Forgets changes whose state nothing holds any more, so that the map is bounded by what exists. */
    private void forgetThoseThatAreGone() {
        for (Iterator<Map.Entry<Subject, Held>> all = held.entrySet().iterator(); all.hasNext(); ) {
            Map.Entry<Subject, Held> entry = all.next();
            if (release(entry.getKey(), entry.getValue()) == null) {
                all.remove();
                logGone(entry.getKey(), entry.getValue());
            }
        }
    }

    private static void logGone(Subject subject, Held change) {
        log.warn(
                "{} is no longer {} by {}: it was removed, or its state was changed in another way",
                subject,
                change.value(),
                change.by());
    }

    /** Ends a change as an operator would; null: it is not in force any more. */
    private @Nullable Runnable release(Subject subject, Held change) {
        Health health = change.health();
        Backend backend = backends.get().get(subject.backend());
        if (backend == null) {
            return null;
        }
        String address = subject.instance();
        if (address == null) {
            boolean isForced = Health.stateWord(health.state()).equals("forced-" + change.value());
            return isForced && backend.health() == health ? health.operator()::release : null;
        }
        Instance instance = backend.instances().find(address);
        if (instance == null || instance.health() != health || !health.isDrained()) {
            return null;
        }
        return instance::restore;
    }

    private void endDue() {
        changes.withoutReload(() -> {
            endDueNow();
            return true;
        });
    }

    private synchronized void endDueNow() {
        long now = nanoClock.getAsLong();
        Map<Subject, Held> due = new LinkedHashMap<>(held);
        due.values().removeIf(change -> !Expiry.isOver(change.end(), now));
        held.keySet().removeAll(due.keySet());
        due.forEach((subject, change) -> {
            Runnable release = release(subject, change);
            if (release == null) {
                logGone(subject, change);
            } else {
                end(subject, change, release);
            }
        });
        timer.set(nextEnd());
    }

    private void end(Subject subject, Held change, Runnable release) {
        Health health = change.health();
        String before = health.word();
        release.run();
        boolean isBreaker = subject.instance() == null;
        log.warn(
                "{} {} after the time that {} set: it was {} and is {}",
                subject,
                isBreaker ? "released" : "returned",
                change.by(),
                before,
                health.word());
        recentEvents.add(
                isBreaker ? RecentEvents.Kind.BREAKER_RELEASED : RecentEvents.Kind.INSTANCE_RETURNED,
                subject.backend(),
                (isBreaker ? "The breaker was released" : "Instance " + subject.instance() + " was returned")
                        + ": the time that " + change.by() + " set is over",
                null);
    }
}
