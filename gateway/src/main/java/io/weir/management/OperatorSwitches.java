package io.weir.management;

import io.weir.engine.Backend;
import io.weir.health.Health;
import io.weir.instance.Instance;
import io.weir.management.OperatorChange.Subject;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The breakers that operators force and the instances that they drain: makes these changes, logs them, and
 * ends those whose time is over.
 *
 * <p>A change belongs to the {@link Health} whose state it holds. If that health has gone, since a reload has
 * removed the backend or an instance has left, the change has ended: a later backend of the same name is not
 * released by it.
 */
// Concurrency: guarded by its monitor. A change takes effect and is entered while the monitor is held, so the
// end of a time finds either the change that it belongs to, or a later one, or none. The callers of the
// methods that change something, and the end of a time, hold OperatorChanges.withoutReload outside of it.
public final class OperatorSwitches {

    private static final Logger log = LoggerFactory.getLogger(OperatorSwitches.class);

    private final Supplier<Map<String, Backend>> backends;
    private final OperatorChangeStore store;
    private final RecentEvents recentEvents;

    /**
     * No changes.
     *
     * @param backends the backends in force, by name
     * @param changes excludes a change of the configuration
     */
    public OperatorSwitches(
            Supplier<Map<String, Backend>> backends,
            OperatorChanges changes,
            OperatorChangeStore store,
            RecentEvents recentEvents) {
        this.backends = backends;
        this.store = store;
        this.recentEvents = recentEvents;
        store.addEnder(() -> changes.withoutReload(this::endDue));
    }

    /**
     * Forces or releases a breaker. Ends the change before, and its time.
     *
     * @param word {@code open}, {@code closed} or {@code released}
     * @param lasting the time after which the breaker is released; null: none
     */
    synchronized void force(Backend backend, String word, String by, @Nullable Duration lasting) {
        Health health = backend.health();
        Subject breaker = Subject.breaker(backend.name());
        String before = Health.stateWord(health.state());
        switch (word) {
            case "open" -> health.operator().forceOpen();
            case "closed" -> health.operator().forceClosed();
            default -> health.operator().release();
        }
        boolean isRelease = word.equals("released");
        if (isRelease) {
            leave(breaker);
        }
        String until = isRelease ? "" : enter(breaker, health, word, by, lasting);
        log.warn(
                "Breaker of backend {} forced by {}: {}; it was {} and is {}{}",
                backend.name(),
                by,
                word,
                before,
                Health.stateWord(health.state()),
                until);
        if (isRelease) {
            show(RecentEvents.Kind.BREAKER_RELEASED, breaker, "was released", by);
        } else {
            show(RecentEvents.Kind.BREAKER_FORCED, breaker, "was forced " + word + until, by);
        }
    }

    /**
     * Drains an instance. One that is drained already keeps its state; its time to live is replaced.
     *
     * @param lasting the time after which the instance is returned; null: none
     */
    synchronized void drain(Backend backend, Instance instance, String by, @Nullable Duration lasting) {
        Subject subject = Subject.instance(backend.name(), instance.shownAddress());
        Health health = instance.health();
        if (!health.isDrained()) {
            String before = health.word();
            int active = instance.inFlight();
            health.operator().drain();
            String until = enter(subject, health, Health.DRAINED, by, lasting);
            logInstance(subject, "drained", by, before, active, health, until);
            show(RecentEvents.Kind.INSTANCE_DRAINED, subject, "was drained" + until, by);
        } else if (lasting != null || hasEnd(subject)) {
            String until = enter(subject, health, Health.DRAINED, by, lasting);
            String stays = "stays drained" + (until.isEmpty() ? " until it is returned" : until);
            log.warn("{} {}, by {}", subject, stays, by);
            show(RecentEvents.Kind.INSTANCE_DRAINED, subject, stays, by);
        }
    }

    /** Returns a drained instance; no effect on any other one. */
    synchronized void restore(Backend backend, Instance instance, String by) {
        Subject subject = Subject.instance(backend.name(), instance.shownAddress());
        Health health = instance.health();
        if (health.isDrained()) {
            String before = health.word();
            int active = instance.inFlight();
            instance.restore();
            leave(subject);
            logInstance(subject, "returned", by, before, active, health, "");
            show(RecentEvents.Kind.INSTANCE_RETURNED, subject, "was returned", by);
        }
    }

    private void show(RecentEvents.Kind kind, Subject subject, String what, @Nullable String by) {
        String who = subject.isBreaker() ? "The breaker " : "Instance " + subject.instance() + ' ';
        recentEvents.add(kind, subject.backend(), who + what, by);
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

    /** The changes by operators that are in force, those of properties included, by backend. */
    public synchronized Map<String, List<OperatorChangeView>> inForce() {
        forgetThoseThatAreGone();
        return store.inForce().views();
    }

    /** Enters a change, and returns the words for its end; none if it has no end. */
    private String enter(Subject subject, Health health, String value, String by, @Nullable Duration lasting) {
        OperatorChange change = new OperatorChange(subject, value, by, store.term(lasting), health);
        store.update(changes -> changes.with(List.of(change)));
        forgetThoseThatAreGone();
        return change.term().words();
    }

    private void leave(Subject subject) {
        store.update(changes -> changes.only(change -> !change.subject().equals(subject)));
    }

    private boolean hasEnd(Subject subject) {
        return store.inForce().all().stream()
                .anyMatch(change ->
                        change.subject().equals(subject) && change.term().hasEnd());
    }

    /** Forgets changes whose state nothing holds any more, so that the store is bounded by what exists. */
    private void forgetThoseThatAreGone() {
        for (OperatorChange change : store.inForce().all()) {
            Health health = change.health();
            if (health != null && release(change, health) == null) {
                leave(change.subject());
                logGone(change);
            }
        }
    }

    private static void logGone(OperatorChange change) {
        log.warn(
                "{} is no longer {} by {}: it was removed, or its state was changed in another way",
                change.subject(),
                change.value(),
                change.by());
    }

    /** Ends a change as an operator would; null: it is not in force any more. */
    private @Nullable Runnable release(OperatorChange change, Health health) {
        Backend backend = backends.get().get(change.subject().backend());
        if (backend == null) {
            return null;
        }
        String address = change.subject().instance();
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

    private synchronized void endDue() {
        for (OperatorChange change : store.over().all()) {
            Health health = change.health();
            if (health != null) {
                leave(change.subject());
                end(change, health);
            }
        }
    }

    private void end(OperatorChange change, Health health) {
        Runnable release = release(change, health);
        if (release == null) {
            logGone(change);
            return;
        }
        String before = health.word();
        release.run();
        Subject subject = change.subject();
        String ended = subject.isBreaker() ? "released" : "returned";
        log.warn(
                "{} {} after the time that {} set: it was {} and is {}",
                subject,
                ended,
                change.by(),
                before,
                health.word());
        show(
                subject.isBreaker() ? RecentEvents.Kind.BREAKER_RELEASED : RecentEvents.Kind.INSTANCE_RETURNED,
                subject,
                "was " + ended + ": the time that " + change.by() + " set is over",
                null);
    }
}
