package io.weir.config.check;

import io.weir.config.WeirProperties;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.io.Resource;

/**
 * The configuration that the check before a start has read. A start that has read the same values takes them
 * from here: with 1000 backends, Spring Boot's binder and a second index of all settings take several
 * seconds.
 */
public final class CheckedConfiguration {

    private final LoadedConfiguration loaded;
    private final ConfigurationSnapshot snapshot;

    private CheckedConfiguration(LoadedConfiguration loaded) {
        this.loaded = loaded;
        this.snapshot = loaded.snapshot();
    }

    /** Reads and checks the configuration of a start with these arguments. */
    public static CheckedConfiguration read(String... arguments) {
        return new CheckedConfiguration(LoadedConfiguration.load(Map.of(), arguments));
    }

    LoadedConfiguration loaded() {
        return loaded;
    }

    /** The configuration with its problems. */
    public ConfigurationSnapshot snapshot() {
        return snapshot;
    }

    /** Weir's properties. Requires a configuration without problems. */
    public WeirProperties weir() {
        return snapshot.weir();
    }

    /**
     * Whether an environment has the same values. It has others if a file has changed or appeared since the
     * check, or if an extension has added values.
     */
    public boolean equalsValuesOf(ConfigurableEnvironment running) {
        List<Source> checked = sources(loaded.sources().environment());
        Set<Object> known = checked.stream().map(Source::origin).collect(Collectors.toSet());
        return checked.equals(sources(running).stream()
                // Spring Boot adds sources of its own to a running application.
                .filter(source -> known.contains(source.origin()) || source.isConfiguration())
                .toList());
    }

    /**
     * Checks the values of an environment that differ from those of this configuration.
     *
     * @throws InvalidConfigurationException if they have a problem
     */
    public static void requireValid(ConfigurableEnvironment running) {
        ValidationReport report = ConfigurationSnapshot.of(running).report();
        if (!report.isValid()) {
            throw new InvalidConfigurationException(report);
        }
    }

    /**
     * A property source.
     *
     * @param origin its file, or its name
     */
    private record Source(Object origin, EnumerablePropertySource<?> values) {

        /** Whether it is a file, or has a property of the gateway. */
        boolean isConfiguration() {
            return origin instanceof Resource
                    || names(values).stream()
                            .anyMatch(name -> PropertyNames.uniform(name).startsWith("weir."));
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Source(Object otherOrigin, EnumerablePropertySource<?> otherValues)
                    && origin.equals(otherOrigin)
                    && names(values).equals(names(otherValues))
                    && names(values).stream()
                            .allMatch(name -> Objects.equals(values.getProperty(name), otherValues.getProperty(name)));
        }

        @Override
        public int hashCode() {
            return origin.hashCode();
        }

        private static Set<String> names(EnumerablePropertySource<?> values) {
            return new HashSet<>(Arrays.asList(values.getPropertyNames()));
        }
    }

    private static List<Source> sources(ConfigurableEnvironment environment) {
        return environment.getPropertySources().stream()
                .filter(source -> !ConfigurationPropertySources.isAttachedConfigurationPropertySource(source))
                .filter(EnumerablePropertySource.class::isInstance)
                .map(source -> {
                    Resource file = LoadedConfiguration.fileOf(source);
                    Object origin = file instanceof LoadedFile text ? text.file() : file;
                    return new Source(origin == null ? source.getName() : origin, (EnumerablePropertySource<?>) source);
                })
                .toList();
    }
}
