package io.weir.reload;

import io.weir.config.WeirProperties;
import io.weir.config.check.ConfigurationDifference;
import io.weir.config.check.ConfigurationProblem;
import io.weir.config.check.ConfigurationSnapshot;
import io.weir.management.OperatorChanges;
import io.weir.management.RecentEvents;
import io.weir.metrics.ReloadMeters;
import io.weir.reload.ConfigurationChange.Trigger;
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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.cloud.gateway.config.GatewayProperties;

/**
 * The configuration in force, and all ways to change it: by its files, and by an operator.
 *
 * <p>A change is applied completely or not at all. The new configuration is validated as at startup and
 * compared with the one in force. It is applied only if the validation and the comparison find no problem.
 */
// Concurrency: this object's monitor serialises all changes. The configuration in force is volatile, for
// readers without the monitor. `applyLock` is held only while a configuration is applied, so an operator who
// forces a breaker never waits for the file system.
public final class LiveConfiguration implements OperatorChanges {

    /** Applies configurations to the running gateway. */
    public interface Target {

        /**
         * Replaces the configuration in force with a valid one, atomically.
         *
         * @throws RuntimeException if the configuration cannot be applied; then nothing has changed
         */
        void apply(WeirProperties weir, GatewayProperties gateway);

        /**
         * Shows which numbers come from an operator. Changes nothing else.
         *
         * @param backends the backends whose {@code max-concurrent-calls} an operator has set
         */
        void showOperatorsLimits(Set<String> backends);
    }

    private static final Logger log = LoggerFactory.getLogger(LiveConfiguration.class);

    /** Lines of a change in the list of recent events. The log contains all lines. */
    private static final int MAX_EVENT_LINES = 3;

    private static final Pattern BACKEND_PATH = Pattern.compile("weir\\.backends\\.([^.]+)\\.");

    private static final Pattern LIMIT_PATH =
            Pattern.compile("weir\\.backends\\.([^.]+)\\.bulkhead\\.max-concurrent-calls");

    private final Supplier<ConfigurationSnapshot> reader;
    private final Target target;
    private final BooleanSupplier draining;
    private final InstantSource clock;
    private final ReloadMeters meters;
    private final RecentEvents recentEvents;
    private final ChangeHistory history = new ChangeHistory();
    /** Held while a configuration is applied. */
    private final Object applyLock = new Object();
    /** The values that operators have set, by path; guarded by this. */
    private final Map<String, String> operatorValues = new HashMap<>();

    private volatile ConfigurationSnapshot inForce;
    /** The last configuration read from the files, applied or rejected. */
    private volatile ConfigurationSnapshot lastRead;
    /** Spring Cloud Gateway's properties in force; null before the first change; guarded by this. */
    private @Nullable GatewayProperties gateway;

    /**
     * The live configuration of a gateway.
     *
     * @param inForce the configuration with which the gateway started
     * @param reader reads the current configuration
     * @param draining whether the gateway is shutting down
     */
    public LiveConfiguration(
            ConfigurationSnapshot inForce,
            Supplier<ConfigurationSnapshot> reader,
            Target target,
            BooleanSupplier draining,
            InstantSource clock,
            ReloadMeters meters,
            RecentEvents recentEvents) {
        this.inForce = inForce;
        this.lastRead = inForce;
        this.reader = reader;
        this.target = target;
        this.draining = draining;
        this.clock = clock;
        this.meters = meters;
        this.recentEvents = recentEvents;
    }

    /** The configuration in force. */
    public ConfigurationSnapshot inForce() {
        return inForce;
    }

    /** Whether the files contain the configuration in force, apart from changes by operators. */
    boolean matchesFiles() {
        return new ConfigurationDifference(inForce, read()).isEmpty();
    }

    /** Whether the files contain the same configuration as at the last read, with the same problems. */
    boolean matchesLastRead() {
        ConfigurationSnapshot before = lastRead;
        ConfigurationSnapshot now = read();
        List<ConfigurationProblem> problems = now.report().problems();
        return problems.equals(before.report().problems())
                && (!problems.isEmpty() || new ConfigurationDifference(before, now).isEmpty());
    }

    /** The files whose change can change the configuration: those in force, and those of the last read. */
    Set<Path> watchedFiles() {
        Set<Path> watched = new LinkedHashSet<>(inForce.files());
        watched.addAll(lastRead.searchedFiles());
        return watched;
    }

    private ConfigurationSnapshot read() {
        ConfigurationSnapshot next = reader.get();
        lastRead = next;
        return next;
    }

    /** The last changes. */
    public ChangeHistory history() {
        return history;
    }

    /**
     * Applies the current content of the files, and discards all changes by operators.
     *
     * @return the applied or rejected change
     */
    public synchronized ConfigurationChange reload(Trigger trigger, String by) {
        ConfigurationChange change;
        try {
            change = change(read(), trigger, by);
        } catch (RuntimeException e) {
            log.error("Configuration could not be reloaded", e);
            change = rejected(trigger, by, List.of("configuration: not readable: " + e));
        }
        if (change.isApplied()) {
            operatorValues.clear();
            showOperatorsLimits();
            history.clearRejected();
            meters.settled();
        }
        if (change.isApplied() && change.differences().isEmpty()) {
            meters.unchanged();
        } else {
            record(change);
        }
        return change;
    }

    @Override
    public synchronized Answer change(String backend, Map<String, String> limits, String by) {
        Map<String, String> next = new HashMap<>(operatorValues);
        List<String> problems = new ArrayList<>();
        OperatorLimits.resolve(backend, limits, next, problems);
        if (!problems.isEmpty()) {
            return new Answer(List.of(), problems);
        }
        ConfigurationChange change = change(inForce.withOperatorValues(next), Trigger.OPERATOR, by);
        if (!change.isApplied()) {
            log.warn("Change of limits of backend {} by {} rejected: {}", backend, by, change.problems());
            return new Answer(List.of(), change.problems());
        }
        operatorValues.clear();
        operatorValues.putAll(next);
        showOperatorsLimits();
        if (!change.differences().isEmpty()) {
            record(change);
        }
        return new Answer(change.differences().stream().map(Object::toString).toList(), List.of());
    }

    private synchronized void showOperatorsLimits() {
        target.showOperatorsLimits(operatorValues.keySet().stream()
                .map(LIMIT_PATH::matcher)
                .filter(Matcher::matches)
                .map(path -> path.group(1))
                .collect(Collectors.toSet()));
    }

    @Override
    public <T> T withoutReload(Supplier<T> action) {
        synchronized (applyLock) {
            return action.get();
        }
    }

    /**
     * Replaces the connections to backends whose SSL bundle has been rotated. Calls under way end on the
     * connections that they have. Nothing else changes.
     */
    public synchronized void renewConnections() {
        if (draining.getAsBoolean()) {
            return;
        }
        try {
            GatewayProperties present = gateway == null ? inForce.gateway() : gateway;
            WeirProperties weir = inForce.weir();
            synchronized (applyLock) {
                target.apply(weir, present);
            }
            gateway = present;
        } catch (RuntimeException e) {
            log.error("Connections to backends could not be renewed after a rotation of certificates", e);
        }
    }

    private ConfigurationChange change(ConfigurationSnapshot next, Trigger trigger, String by) {
        if (draining.getAsBoolean()) {
            return rejected(trigger, by, List.of("the gateway is shutting down and accepts no changes"));
        }
        List<ConfigurationProblem> problems = new ArrayList<>(next.report().problems());
        if (problems.isEmpty()) {
            ConfigurationDifference difference = new ConfigurationDifference(inForce, next);
            problems.addAll(difference.problems());
            if (problems.isEmpty()) {
                return apply(next, difference, trigger, by);
            }
        }
        return rejected(
                trigger,
                by,
                problems.stream().map(ConfigurationProblem::toString).toList());
    }

    private ConfigurationChange apply(
            ConfigurationSnapshot next, ConfigurationDifference difference, Trigger trigger, String by) {
        if (!difference.isEmpty()) {
            try {
                GatewayProperties before = gateway;
                GatewayProperties after = before == null || difference.affectsGatewayRoutes() ? next.gateway() : before;
                WeirProperties weir = next.weir();
                synchronized (applyLock) {
                    target.apply(weir, after);
                }
                gateway = after;
            } catch (RuntimeException e) {
                log.error("Valid configuration could not be applied", e);
                return rejected(trigger, by, List.of("configuration: cannot be applied: " + e.getMessage()));
            }
        }
        inForce = next;
        return new ConfigurationChange(clock.instant(), trigger, by, difference.changedValues(), List.of());
    }

    private ConfigurationChange rejected(Trigger trigger, String by, List<String> problems) {
        return new ConfigurationChange(clock.instant(), trigger, by, List.of(), problems);
    }

    private void record(ConfigurationChange change) {
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
                    summary(change.differences()),
                    change.by());
        } else {
            meters.refused();
            log.error("Reload from {} rejected; the current configuration stays in force:", change.by());
            change.problems().forEach(problem -> log.error("  {}", problem));
            recentEvents.add(RecentEvents.Kind.CONFIGURATION_REFUSED, null, summary(change.problems()), change.by());
        }
    }

    /** The first lines, and the number of the others. */
    private static String summary(List<?> lines) {
        String rest = lines.size() > MAX_EVENT_LINES ? "; and " + (lines.size() - MAX_EVENT_LINES) + " more" : "";
        return lines.stream().limit(MAX_EVENT_LINES).map(Object::toString).collect(Collectors.joining("; ", "", rest));
    }

    /** The backend that all changed values belong to; null if there is no such backend. */
    private static @Nullable String backend(ConfigurationChange change) {
        List<String> names = change.differences().stream()
                .map(difference -> BACKEND_PATH.matcher(difference.path()))
                .map(path -> path.lookingAt() ? path.group(1) : "")
                .distinct()
                .toList();
        return names.size() == 1 && !names.get(0).isEmpty() ? names.get(0) : null;
    }
}
