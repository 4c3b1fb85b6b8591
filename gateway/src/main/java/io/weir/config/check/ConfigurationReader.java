package io.weir.config.check;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.env.DefaultPropertiesPropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;

/**
 * Reads the current configuration: the one that a start at this moment would use.
 *
 * <p>Thread-safe.
 */
// Concurrency: guarded by this.
public final class ConfigurationReader implements Supplier<ConfigurationSnapshot> {

    private final ConfigurableEnvironment running;
    private final String[] arguments;
    private @Nullable LoadedConfiguration last;

    /**
     * A reader.
     *
     * @param running the environment of the running gateway; provides the application's own default
     *     properties
     * @param arguments the command line arguments of the running gateway
     */
    public ConfigurationReader(ConfigurableEnvironment running, String... arguments) {
        this.running = running;
        this.arguments = arguments.clone();
    }

    /** Reads again only if a file changes after the check before the start. */
    public synchronized void continueFrom(CheckedConfiguration checked) {
        last = checked.loaded();
    }

    @Override
    public synchronized ConfigurationSnapshot get() {
        // Checked before loading, because Spring Boot treats a directory as an empty file.
        List<ConfigurationProblem> unreadable = NamedFiles.locations(running)
                .filter(location -> !NamedFiles.isOptional(location))
                .map(NamedFiles::toPath)
                .flatMap(file ->
                        Optional.ofNullable(NamedFiles.unreadable(file))
                                .map(why -> NamedFiles.problem(file, why))
                                .stream())
                .toList();
        if (!unreadable.isEmpty()) {
            return new ConfigurationSnapshot(ConfigurationSources.of(running), unreadable);
        }
        LoadedConfiguration next = last != null && last.isCurrent() ? last : load();
        if (next.sources().problems().isEmpty()) {
            last = next;
        }
        return next.snapshot();
    }

    private LoadedConfiguration load() {
        PropertySource<?> defaults = running.getPropertySources().get(DefaultPropertiesPropertySource.NAME);
        Map<String, Object> own = new HashMap<>();
        if (defaults instanceof EnumerablePropertySource<?> enumerable) {
            for (String name : enumerable.getPropertyNames()) {
                own.put(name, enumerable.getProperty(name));
            }
        }
        return LoadedConfiguration.load(own, arguments);
    }
}
