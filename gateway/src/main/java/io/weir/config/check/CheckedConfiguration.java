package io.weir.config.check;

import io.weir.config.WeirProperties;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.env.ConfigTreePropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.io.Resource;

/**
 * The configuration that the check before a start has read. A start that has read the same values takes them
 * from here: with 1000 backends, Spring Boot's binder and a second tree of all configured names take several
 * seconds.
 */
public final class CheckedConfiguration {

    private static final Logger log = LoggerFactory.getLogger(CheckedConfiguration.class);

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

    /** The problems of the configuration, those of its certificates included. */
    ValidationReport report() {
        return snapshot.report().withCertificates(loaded.sources());
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
        List<Source> read = sources(running).stream()
                // Spring Boot adds sources of its own to a running application.
                .filter(source -> known.contains(source.origin()) || source.isConfiguration())
                .toList();
        int same = 0;
        while (same < Math.min(checked.size(), read.size()) && checked.get(same).hasValuesOf(read.get(same))) {
            same++;
        }
        if (same == checked.size() && same == read.size()) {
            return true;
        }
        log.debug(
                "The values have changed since the check; the first source that differs: {}",
                (same < read.size() ? read : checked).get(same).values().getName());
        return false;
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

        boolean hasValuesOf(Source other) {
            return origin.equals(other.origin)
                    && names(values).equals(names(other.values))
                    && names(values).stream().allMatch(name -> {
                        Object value = values.getProperty(name);
                        Object otherValue = other.values.getProperty(name);
                        return Objects.equals(value, otherValue) || haveSameText(value, otherValue);
                    });
        }

        /** Spring Boot's values from directories have no equality of their own. */
        private static boolean haveSameText(@Nullable Object one, @Nullable Object other) {
            try {
                return one instanceof ConfigTreePropertySource.Value text
                        && other instanceof ConfigTreePropertySource.Value otherText
                        && text.toString().equals(otherText.toString());
            } catch (IllegalStateException e) {
                // Not readable. Spring Boot reads it only if it is used.
                return false;
            }
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
