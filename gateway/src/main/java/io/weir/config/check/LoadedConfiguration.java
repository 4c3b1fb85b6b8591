package io.weir.config.check;

import io.weir.accesslog.LogFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.env.DefaultPropertiesPropertySource;
import org.springframework.boot.env.RandomValuePropertySource;
import org.springframework.boot.origin.OriginLookup;
import org.springframework.boot.origin.OriginTrackedResource;
import org.springframework.boot.origin.TextResourceOrigin;
import org.springframework.core.env.CommandLinePropertySource;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;

/**
 * A loaded configuration. It knows whether its files have changed since: a reload reads several times, before
 * and after the files' quiet period, and an unchanged configuration is neither loaded nor checked again.
 *
 * @param files the files that Spring Boot requested and received
 */
record LoadedConfiguration(ConfigurationSources sources, ConfigurationResourceLoader files) {

    /** Property sources that no file changes. The values that Spring Cloud decrypts are not among them. */
    private static final Set<String> IMMUTABLE_SOURCES = Set.of(
            StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME,
            StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
            CommandLinePropertySource.COMMAND_LINE_PROPERTY_SOURCE_NAME,
            DefaultPropertiesPropertySource.NAME,
            RandomValuePropertySource.RANDOM_PROPERTY_SOURCE_NAME,
            "cachedrandom",
            "springCloudClientHostInfo",
            "gateway-properties",
            LogFormat.SOURCE);

    /** Properties that select the files to load; in uniform spelling, without dots. */
    private static final List<String> FILE_SELECTING_PROPERTIES = List.of("springconfig", "springprofiles");

    /** A value with one of these can select untracked files, or depend on a reloadable property. */
    private static final List<String> UNTRACKED_MARKERS = List.of("*", "configtree:", "${");

    /** Loads everything through Spring Boot. */
    static LoadedConfiguration load(Map<String, Object> defaults, String... arguments) {
        ConfigurationResourceLoader files = new ConfigurationResourceLoader();
        return new LoadedConfiguration(ConfigurationSources.read(files, defaults, arguments), files);
    }

    /** The configuration with its problems and values. */
    ConfigurationSnapshot snapshot() {
        return new ConfigurationSnapshot(sources, List.of(), files.searchedFiles());
    }

    /** Whether a load at this moment would have the same result: no file has changed. */
    boolean isCurrent() {
        return files.areUnchanged()
                && !mayReadUntrackedFiles()
                && sources.environment().getPropertySources().stream().allMatch(this::isTracked)
                && sources.files().entrySet().stream()
                        .allMatch(file -> file.getKey().file() instanceof ClassPathResource
                                || file.getValue().hasTextOf(file.getKey().file()));
    }

    private boolean isTracked(PropertySource<?> source) {
        Resource file = fileOf(source);
        return file == null
                ? IMMUTABLE_SOURCES.contains(source.getName())
                        || ConfigurationPropertySources.isAttachedConfigurationPropertySource(source)
                : sources.files().containsKey(file);
    }

    private boolean mayReadUntrackedFiles() {
        return sources.environment().getPropertySources().stream()
                .filter(source -> !ConfigurationPropertySources.isAttachedConfigurationPropertySource(source))
                .flatMap(source -> source instanceof EnumerablePropertySource<?> enumerable
                        ? Stream.of(enumerable.getPropertyNames())
                                .filter(LoadedConfiguration::selectsFiles)
                                .map(enumerable::getProperty)
                        : Stream.empty())
                .anyMatch(value -> UNTRACKED_MARKERS.stream().anyMatch(String.valueOf(value)::contains));
    }

    private static boolean selectsFiles(String property) {
        String uniform = PropertyNames.uniform(property).replace(".", "");
        return FILE_SELECTING_PROPERTIES.stream().anyMatch(uniform::startsWith);
    }

    /** The file of a property source; null if the source has no file or no properties. */
    static @Nullable Resource fileOf(PropertySource<?> source) {
        if (source instanceof EnumerablePropertySource<?> enumerable
                && enumerable.getPropertyNames().length > 0
                && OriginLookup.getOrigin(enumerable, enumerable.getPropertyNames()[0])
                        instanceof TextResourceOrigin text) {
            return text.getResource() instanceof OriginTrackedResource tracked
                    ? tracked.getResource()
                    : text.getResource();
        }
        return null;
    }
}
