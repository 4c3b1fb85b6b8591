package io.weir.reload;

import io.weir.config.check.ConfigurationDifference;
import io.weir.config.check.ConfigurationHash;
import io.weir.config.check.ConfigurationProblem;
import io.weir.config.check.ConfigurationSnapshot;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads the configuration from its files, and remembers the last read, applied or rejected. Thread-safe. */
final class ConfigurationFiles {

    private final Supplier<ConfigurationSnapshot> reader;
    private final KeptConfigurations kept;
    private volatile ConfigurationSnapshot last;
    /** Whether an attempt to read failed after the last read. */
    private volatile boolean isFailed;

    /**
     * The files of a gateway.
     *
     * @param first the configuration with which the gateway started
     * @param reader reads the present configuration
     * @param kept keeps the files of each configuration that comes into force
     */
    ConfigurationFiles(ConfigurationSnapshot first, Supplier<ConfigurationSnapshot> reader, KeptConfigurations kept) {
        this.last = first;
        this.reader = reader;
        this.kept = kept;
    }

    /** The present content. */
    ConfigurationSnapshot read() {
        isFailed = true;
        ConfigurationSnapshot next = reader.get();
        last = next;
        isFailed = false;
        return next;
    }

    /** The last read, applied or rejected. */
    ConfigurationSnapshot lastRead() {
        return last;
    }

    /** Reads; null if the configuration or its problems are not those of the last attempt to read. */
    @Nullable
    ConfigurationSnapshot rereadUnchanged() {
        ConfigurationSnapshot before = isFailed ? null : last;
        ConfigurationSnapshot now = read();
        return before != null && (now.hasSourcesOf(before) || hasSameResult(before, now)) ? now : null;
    }

    private static boolean hasSameResult(ConfigurationSnapshot before, ConfigurationSnapshot now) {
        List<ConfigurationProblem> problems = now.report().problems();
        return problems.equals(before.report().problems())
                && (!problems.isEmpty() || new ConfigurationDifference(before, now).isEmpty());
    }

    /** The files whose change can change the configuration: those in force, and those of the last read. */
    Set<Path> watched(ConfigurationSnapshot inForce) {
        Set<Path> watched = new LinkedHashSet<>(inForce.files());
        watched.addAll(last.searchedFiles());
        return watched;
    }

    /** Keeps the files that a configuration was read from, unless they have changed since. */
    void keep(ConfigurationSnapshot configuration, ConfigurationHash hash) {
        kept.keep(configuration, hash, () -> isSame(configuration, reader.get()));
    }

    /** Keeps the present files, if they contain this configuration. */
    void keepIfUnchanged(ConfigurationSnapshot configuration, ConfigurationHash hash) {
        ConfigurationSnapshot now = reader.get();
        if (isSame(configuration, now)) {
            keep(now, hash);
        }
    }

    /** Whether both have the same values. A check takes most time, so it comes last. */
    private static boolean isSame(ConfigurationSnapshot configuration, ConfigurationSnapshot now) {
        return now.hasSourcesOf(configuration)
                || (new ConfigurationDifference(configuration, now).isEmpty() && OperatorLimits.isValid(now));
    }
}
