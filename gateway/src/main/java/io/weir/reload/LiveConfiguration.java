package io.weir.reload;

import io.weir.config.WeirProperties;
import io.weir.config.check.ConfigurationDifference;
import io.weir.config.check.ConfigurationHash;
import io.weir.config.check.ConfigurationProblem;
import io.weir.config.check.ConfigurationSnapshot;
import io.weir.management.ConfigurationState;
import io.weir.management.HeldChanges;
import io.weir.management.OperatorChange;
import io.weir.management.OperatorChange.Term;
import io.weir.management.OperatorChangeStore;
import io.weir.management.OperatorChanges;
import io.weir.management.RecentEvents;
import io.weir.metrics.ReloadMeters;
import io.weir.reload.ConfigurationChange.Trigger;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
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
// forces a breaker never waits for the file system. `reloadLock` serialises reloads, from reading to keeping
// the files; it alone is held while a reload reads and keeps files and waits for DNS, so that no operator
// waits for either.
public final class LiveConfiguration implements OperatorChanges {

    private static final Logger log = LoggerFactory.getLogger(LiveConfiguration.class);

    private final ConfigurationFiles files;
    private final ConfigurationTarget target;
    private final BooleanSupplier draining;
    private final InstantSource clock;
    private final ReloadMeters meters;
    private final ChangeReporter reporter;
    /** Held by one reload at a time; taken before the monitor. */
    private final Object reloadLock = new Object();
    /** Held while a configuration is applied. */
    private final Object applyLock = new Object();

    /** This object's monitor is held while the changes of properties are replaced. */
    private final OperatorChangeStore operatorChanges;

    private volatile ConfigurationSnapshot inForce;
    /** The hash of the values in the files of the configuration in force. */
    private volatile ConfigurationHash hash;
    /** Spring Cloud Gateway's properties in force; null before the first change; guarded by this. */
    private @Nullable GatewayProperties gateway;

    /**
     * The live configuration of a gateway.
     *
     * @param inForce the configuration with which the gateway started
     * @param reader reads the current configuration
     * @param draining whether the gateway is shutting down
     * @param operatorChanges keeps the changes of operators
     * @param clock the times that are shown
     * @param kept keeps the files of each configuration that comes into force
     */
    public LiveConfiguration(
            ConfigurationSnapshot inForce,
            Supplier<ConfigurationSnapshot> reader,
            ConfigurationTarget target,
            BooleanSupplier draining,
            OperatorChangeStore operatorChanges,
            InstantSource clock,
            ReloadMeters meters,
            RecentEvents recentEvents,
            KeptConfigurations kept) {
        this.inForce = inForce;
        this.hash = inForce.hash();
        this.files = new ConfigurationFiles(inForce, reader, kept);
        this.target = target;
        this.draining = draining;
        this.clock = clock;
        this.meters = meters;
        this.reporter = new ChangeReporter(meters, recentEvents);
        this.operatorChanges = operatorChanges;
        operatorChanges.addEnder(this::endDue);
        meters.showHash(hash.value());
        log.info("Configuration of the start: hash {}, files {}", hash, inForce.files());
    }

    /** The configuration in force. */
    public ConfigurationSnapshot inForce() {
        return inForce;
    }

    /** Keeps the files with which the gateway started, unless they have changed since. */
    public void keepFilesOfStart() {
        files.keepIfUnchanged(inForce, hash);
    }

    /** Reads the files again; null if they have not the same configuration as at the last read. */
    @Nullable
    ConfigurationSnapshot rereadUnchanged() {
        synchronized (reloadLock) {
            return files.rereadUnchanged();
        }
    }

    /** The last read, applied or rejected. Waits for a reload in progress. */
    ConfigurationSnapshot lastRead() {
        synchronized (reloadLock) {
            return files.lastRead();
        }
    }

    /** The files whose change can change the configuration: those in force, and those of the last read. */
    Set<Path> watchedFiles() {
        return files.watched(inForce);
    }

    /** The last changes. */
    public ChangeHistory history() {
        return reporter.history();
    }

    /**
     * Applies the current content of the files. The changes by operators stay in force, except those whose
     * time to live is over, whose backend is gone, or that are invalid together with the files.
     *
     * @return the applied or rejected change
     */
    public ConfigurationChange reload(Trigger trigger, String by) {
        synchronized (reloadLock) {
            ConfigurationSnapshot next;
            try {
                next = files.read();
            } catch (RuntimeException e) {
                return unreadable(e, trigger, by);
            }
            ConfigurationChange change;
            try (ConfigurationTarget.Preparation _ = prepare(next)) {
                change = reload(next, trigger, by);
            }
            if (change.isApplied()) {
                files.keep(next, hash);
            }
            return change;
        }
    }

    /** Prepares for files that will be applied. If this fails, the change fails, too, and says why. */
    private ConfigurationTarget.Preparation prepare(ConfigurationSnapshot next) {
        try {
            if (!draining.getAsBoolean()
                    && OperatorLimits.isValid(next)
                    && new ConfigurationDifference(inForce, next).problems().isEmpty()) {
                return target.prepare(next.weir());
            }
        } catch (RuntimeException e) {
            log.debug("The reload could not be prepared", e);
        }
        return () -> {};
    }

    private synchronized ConfigurationChange unreadable(RuntimeException e, Trigger trigger, String by) {
        log.error("Configuration could not be reloaded", e);
        ConfigurationChange change = rejected(trigger, by, List.of("configuration: not readable: " + e));
        reporter.report(change, "", hash);
        return change;
    }

    private synchronized ConfigurationChange reload(ConfigurationSnapshot next, Trigger trigger, String by) {
        ConfigurationChange change;
        ConfigurationHash before = hash;
        HeldChanges lasting;
        HeldChanges values = operatorValues();
        HeldChanges over = operatorChanges.over().ofProperties();
        try {
            lasting = OperatorLimits.fitting(values.without(over), next);
            change = change(lasting.isEmpty() ? next : OperatorLimits.apply(lasting, next), trigger, by);
        } catch (RuntimeException e) {
            return unreadable(e, trigger, by);
        }
        if (change.isApplied()) {
            HeldChanges ended = values.without(over).without(lasting);
            reporter.reloaded(lasting, over, ended, next.weir().backends().keySet());
            setOperatorValues(lasting);
            reporter.settled();
        }
        if (change.isApplied() && change.differences().isEmpty()) {
            meters.unchanged();
            if (!hash.equals(before)) {
                log.warn("Configuration read by {} ({}); hash {}: operators' values hide it", by, trigger, hash);
            }
        } else {
            reporter.report(change, "", hash);
        }
        return change;
    }

    @Override
    public synchronized Answer change(
            String backend, Map<String, String> limits, String by, @Nullable Duration lasting) {
        Map<String, String> paths = new HashMap<>();
        List<String> problems = new ArrayList<>();
        OperatorLimits.resolve(backend, limits, paths, problems);
        if (!problems.isEmpty()) {
            return new Answer(List.of(), problems);
        }
        Term term = operatorChanges.term(lasting);
        List<OperatorChange> changes = paths.entrySet().stream()
                .map(path -> new OperatorChange(
                        new OperatorChange.Subject(backend, path.getKey(), null), path.getValue(), by, term, null))
                .toList();
        HeldChanges values = operatorValues();
        HeldChanges next = values.with(changes);
        boolean isTimed = Stream.concat(changes.stream(), values.without(next).all().stream())
                .anyMatch(change -> change.term().hasEnd());
        return changeByOperator(backend, next, by, term.words(), isTimed);
    }

    @Override
    public synchronized Answer release(String backend, String by) {
        HeldChanges values = operatorValues();
        HeldChanges next = values.withoutBackends(Set.of(backend));
        return next.equals(values)
                ? new Answer(List.of(), List.of())
                : changeByOperator(backend, next, by, ", released", true);
    }

    /**
     * Puts values of operators in force in place of the present ones.
     *
     * @param end the words for the end of the change
     * @param isTimed whether the change is recorded even if all values are as before, since their end differs
     */
    private Answer changeByOperator(String backend, HeldChanges next, String by, String end, boolean isTimed) {
        ConfigurationChange change = change(OperatorLimits.apply(next, inForce), Trigger.OPERATOR, by);
        if (!change.isApplied()) {
            log.warn("Change of limits of backend {} by {} rejected: {}", backend, by, change.problems());
            return new Answer(List.of(), change.problems());
        }
        setOperatorValues(next);
        if (!change.differences().isEmpty()) {
            reporter.report(change, end, hash);
        } else if (isTimed) {
            reporter.reportEnd(backend, by, end);
        }
        return new Answer(change.differences().stream().map(Object::toString).toList(), List.of());
    }

    /** Ends the changes of operators whose time is over. A stopping gateway forgets them. */
    private synchronized void endDue() {
        HeldChanges due = operatorChanges.over().ofProperties();
        if (due.isEmpty() || draining.getAsBoolean()) {
            return;
        }
        HeldChanges rest = operatorValues().without(due);
        List<String> problems = List.of();
        // Values that were set beside those that end may be invalid without them; the files' are valid.
        for (HeldChanges next :
                new LinkedHashSet<>(List.of(rest, rest.withoutBackends(due.backends()), HeldChanges.NONE))) {
            ConfigurationChange change = change(
                    OperatorLimits.apply(next, inForce), Trigger.EXPIRY, "the time that " + due.operators() + " set");
            if (change.isApplied()) {
                rest.without(next)
                        .lines()
                        .forEach(line -> log.warn("Change ended, as it is invalid without another one: {}", line));
                due.lines().forEach(line -> log.warn("Change ended after its time: {}", line));
                setOperatorValues(next);
                if (!change.differences().isEmpty()) {
                    reporter.report(change, "", hash);
                }
                return;
            }
            problems = change.problems();
        }
        log.error("Changes by {} could not be ended after their time: {}", due.operators(), problems);
    }

    /** The values of properties that operators have set. */
    private HeldChanges operatorValues() {
        return operatorChanges.inForce().ofProperties();
    }

    private void setOperatorValues(HeldChanges next) {
        operatorChanges.replaceProperties(next);
        target.showOperatorsLimits(OperatorLimits.backendsWithLimit(next));
    }

    /** The configuration in force, in short. */
    public ConfigurationState state() {
        return new ConfigurationState(hash.toString(), operatorValues().all().size());
    }

    @Override
    public void withoutReload(Runnable action) {
        synchronized (applyLock) {
            action.run();
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
        show(next.hash());
        return new ConfigurationChange(clock.instant(), trigger, by, difference.changedValues(), List.of());
    }

    private ConfigurationChange rejected(Trigger trigger, String by, List<String> problems) {
        return new ConfigurationChange(clock.instant(), trigger, by, List.of(), problems);
    }

    private void show(ConfigurationHash next) {
        hash = next;
        meters.showHash(next.value());
    }
}
