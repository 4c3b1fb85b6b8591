package io.weir.reload;

import io.weir.config.WeirProperties;
import io.weir.config.check.ConfigurationProblem;
import io.weir.config.check.Snapshot;
import io.weir.config.check.SnapshotDifference;
import io.weir.management.OperatorChanges;
import io.weir.management.RecentEvents;
import io.weir.metrics.ReloadMeters;
import io.weir.reload.Change.Trigger;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.cloud.gateway.config.GatewayProperties;

/**
 * The configuration that is in force, and every way to change it: by its files, and by an operator.
 *
 * <p>A change is taken whole or not at all: what is read is validated as at a start, held against what is in force, and only
 * if nothing is wrong with either swapped in.
 */
// Concurrency: changes come one after the other, under this object's monitor; what is in force is volatile, for those
// who look. Who does something to a part of it waits only while another one is put in its place, under a lock of its
// own: an operator who forces a breaker does not wait for a file system.
public final class LiveConfiguration implements OperatorChanges {

    /** What a configuration is put into. */
    @FunctionalInterface
    public interface Target {

        /**
         * Puts a sound configuration in the place of the one in force, at once.
         *
         * @throws RuntimeException if it cannot be; then nothing has changed
         */
        void swap(WeirProperties weir, GatewayProperties gateway);
    }

    private static final Logger log = LoggerFactory.getLogger(LiveConfiguration.class);

    /** Lines that stand in the list of what happened; the log has all, and of a file that is refused the dashboard too. */
    private static final int TOLD = 3;

    private static final Pattern OF_BACKEND = Pattern.compile("weir\\.backends\\.([^.]+)\\.");

    private final Supplier<Snapshot> files;
    private final Target target;
    private final BooleanSupplier draining;
    private final InstantSource clock;
    private final ReloadMeters meters;
    private final RecentEvents recentEvents;
    private final History history = new History();
    /** Held while another configuration takes the place of the one in force. */
    private final Object swapping = new Object();
    /** What an operator has set, by path; guarded by this. */
    private final Map<String, String> operators = new HashMap<>();

    private volatile Snapshot inForce;
    /** What was read last, whatever became of it. */
    private volatile Snapshot lastRead;
    /** Spring Cloud Gateway's part of it, once it was asked for; guarded by this. */
    private @Nullable GatewayProperties gateway;

    /**
     * A configuration in force.
     *
     * @param inForce what the gateway has been started with
     * @param files reads what is written now
     * @param draining whether the gateway is on its way out
     */
    public LiveConfiguration(
            Snapshot inForce,
            Supplier<Snapshot> files,
            Target target,
            BooleanSupplier draining,
            InstantSource clock,
            ReloadMeters meters,
            RecentEvents recentEvents) {
        this.inForce = inForce;
        this.lastRead = inForce;
        this.files = files;
        this.target = target;
        this.draining = draining;
        this.clock = clock;
        this.meters = meters;
        this.recentEvents = recentEvents;
    }

    /** What is in force. */
    public Snapshot inForce() {
        return inForce;
    }

    /** Whether the files say what is in force, without what operators have changed. */
    boolean isAsWritten() {
        return new SnapshotDifference(inForce, read()).isEmpty();
    }

    /** Whether the files say, for all that is of interest, what they said when they were read last. */
    boolean isAsRead() {
        Snapshot before = lastRead;
        Snapshot now = read();
        List<ConfigurationProblem> problems = now.report().problems();
        return problems.equals(before.report().problems())
                && (!problems.isEmpty() || new SnapshotDifference(before, now).isEmpty());
    }

    /** The files whose change can make another configuration: those of what is in force, and those that were read last. */
    Set<Path> watched() {
        Set<Path> watched = new LinkedHashSet<>(inForce.files());
        watched.addAll(lastRead.places());
        return watched;
    }

    private Snapshot read() {
        Snapshot next = files.get();
        lastRead = next;
        return next;
    }

    /** The last changes. */
    public History history() {
        return history;
    }

    /** Puts what is written in the files now in force, and forgets what operators have changed; or says why not. */
    public synchronized Change reload(Trigger trigger, String by) {
        Change change;
        try {
            change = change(read(), trigger, by);
        } catch (RuntimeException e) {
            log.error("Configuration could not be reloaded", e);
            change = refused(trigger, by, List.of("configuration: not readable: " + e));
        }
        if (change.isApplied()) {
            operators.clear();
            history.settled();
            meters.settled();
        }
        if (change.isApplied() && change.differences().isEmpty()) {
            meters.unchanged();
        } else {
            note(change);
        }
        return change;
    }

    @Override
    public synchronized Answer change(String backend, Map<String, String> limits, String by) {
        Map<String, String> next = new HashMap<>(operators);
        List<String> problems = new ArrayList<>();
        OperatorLimits.paths(backend, limits, next, problems);
        if (!problems.isEmpty()) {
            return new Answer(List.of(), problems);
        }
        Change change = change(inForce.with(next), Trigger.OPERATOR, by);
        if (!change.isApplied()) {
            log.warn("Limits of backend {} were not changed for {}: {}", backend, by, change.problems());
            return new Answer(List.of(), change.problems());
        }
        operators.clear();
        operators.putAll(next);
        if (!change.differences().isEmpty()) {
            note(change);
        }
        return new Answer(
                change.differences().stream().map(Difference::toString).toList(), List.of());
    }

    @Override
    public <T> T withoutReload(Supplier<T> action) {
        synchronized (swapping) {
            return action.get();
        }
    }

    private Change change(Snapshot next, Trigger trigger, String by) {
        if (draining.getAsBoolean()) {
            return refused(trigger, by, List.of("the gateway is shutting down; nothing is changed any more"));
        }
        List<ConfigurationProblem> problems = new ArrayList<>(next.report().problems());
        if (problems.isEmpty()) {
            SnapshotDifference difference = new SnapshotDifference(inForce, next);
            problems.addAll(difference.problems());
            if (problems.isEmpty()) {
                return apply(next, difference, trigger, by);
            }
        }
        return refused(
                trigger,
                by,
                problems.stream().map(ConfigurationProblem::toString).toList());
    }

    private Change apply(Snapshot next, SnapshotDifference difference, Trigger trigger, String by) {
        if (!difference.isEmpty()) {
            try {
                GatewayProperties before = gateway;
                GatewayProperties after = before == null || difference.isOfRoutes() ? next.gateway() : before;
                WeirProperties weir = next.weir();
                synchronized (swapping) {
                    target.swap(weir, after);
                }
                gateway = after;
            } catch (RuntimeException e) {
                log.error("A sound configuration could not be put in force", e);
                return refused(trigger, by, List.of("configuration: cannot be put in force: " + e.getMessage()));
            }
        }
        inForce = next;
        return new Change(
                clock.instant(),
                trigger,
                by,
                difference.values().stream()
                        .map(value -> new Difference(value.path(), value.before(), value.after()))
                        .toList(),
                List.of());
    }

    private Change refused(Trigger trigger, String by, List<String> problems) {
        return new Change(clock.instant(), trigger, by, List.of(), problems);
    }

    private void note(Change change) {
        history.add(change);
        if (change.isApplied()) {
            meters.applied(change.at());
            log.warn("Configuration changed by {} ({}):", change.by(), change.trigger());
            change.differences().forEach(difference -> log.warn("  {}", difference));
            recentEvents.add(
                    change.trigger() == Trigger.OPERATOR
                            ? RecentEvents.Kind.LIMIT_CHANGED
                            : RecentEvents.Kind.CONFIGURATION_RELOADED,
                    backend(change),
                    told(change.differences()),
                    change.by());
        } else {
            meters.refused();
            log.error(
                    "Configuration not changed; everything stays as it was. What {} brought is not sound:",
                    change.by());
            change.problems().forEach(problem -> log.error("  {}", problem));
            recentEvents.add(RecentEvents.Kind.CONFIGURATION_REFUSED, null, told(change.problems()), change.by());
        }
    }

    /** The first of them, and how many more. */
    private static String told(List<?> lines) {
        String rest = lines.size() > TOLD ? "; and " + (lines.size() - TOLD) + " more" : "";
        return lines.stream().limit(TOLD).map(Object::toString).collect(Collectors.joining("; ", "", rest));
    }

    /** The backend that all of a change is about; null: there is no such one. */
    private static @Nullable String backend(Change change) {
        List<String> names = change.differences().stream()
                .map(difference -> OF_BACKEND.matcher(difference.path()))
                .map(path -> path.lookingAt() ? path.group(1) : "")
                .distinct()
                .toList();
        return names.size() == 1 && !names.get(0).isEmpty() ? names.get(0) : null;
    }
}
