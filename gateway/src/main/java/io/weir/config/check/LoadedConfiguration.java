package io.weir.config.check;

import io.weir.accesslog.LogFormat;
import java.io.IOException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.env.DefaultPropertiesPropertySource;
import org.springframework.boot.env.RandomValuePropertySource;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.boot.origin.Origin;
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
 * A loaded configuration. Reloading only its changed files costs a tenth of a complete load.
 *
 * <p>Usually only backends, routes and limits change. Spring Boot's own loading does not depend on them: they
 * select no profile and no import, and Spring Boot derives no properties from them. In this case Spring
 * Boot's YAML loader parses the changed files, and the new property sources replace the old ones. Any other
 * change needs a complete load, as at startup.
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

    private static final String ENCRYPTED = "{cipher}";

    /** Loads everything through Spring Boot. */
    static LoadedConfiguration load(Map<String, Object> defaults, String... arguments) {
        ConfigurationResourceLoader files = new ConfigurationResourceLoader();
        return new LoadedConfiguration(ConfigurationSources.read(files, defaults, arguments), files);
    }

    /** The configuration with its problems and values. */
    ConfigurationSnapshot snapshot() {
        return new ConfigurationSnapshot(sources, List.of(), files.searchedFiles());
    }

    /** The configuration with its changed files reloaded; empty if a complete load is necessary. */
    Optional<LoadedConfiguration> reloadChangedFiles() {
        if (!files.areUnchanged() || mayReadUntrackedFiles()) {
            return Optional.empty();
        }
        Map<Resource, PropertySource<?>> sourcesOf = new LinkedHashMap<>();
        for (PropertySource<?> source : sources.environment().getPropertySources()) {
            Resource file = fileOf(source);
            boolean isTracked =
                    file == null ? isImmutable(source) : sources.files().containsKey(file);
            if (!isTracked || (file != null && sourcesOf.put(file, source) != null)) {
                return Optional.empty();
            }
        }
        try {
            return reloadChangedFiles(sourcesOf);
        } catch (IOException | RuntimeException e) {
            // A complete load reports the problem.
            return Optional.empty();
        }
    }

    private Optional<LoadedConfiguration> reloadChangedFiles(Map<Resource, PropertySource<?>> sourcesOf)
            throws IOException {
        Map<LoadedFile, YamlFile> read = new LinkedHashMap<>();
        Map<PropertySource<?>, PropertySource<?>> changed = new LinkedHashMap<>();
        for (Map.Entry<LoadedFile, YamlFile> entry : sources.files().entrySet()) {
            Resource file = entry.getKey().file();
            YamlFile before = entry.getValue();
            YamlFile now = file instanceof ClassPathResource ? before : before.reread(file);
            LoadedFile text = new LoadedFile(file, now.readable());
            read.put(text, now);
            if (now != before) {
                PropertySource<?> source = sourcesOf.get(text);
                if (source == null || !before.isSingleValidDocument() || !now.isSingleValidDocument()) {
                    return Optional.empty();
                }
                PropertySource<?> next = load(source, text);
                if (next == null || !isReloadable(source, next)) {
                    return Optional.empty();
                }
                changed.put(source, next);
            }
        }
        return Optional.of(
                changed.isEmpty()
                        ? this
                        : new LoadedConfiguration(
                                sources.withFiles(read, source -> changed.getOrDefault(source, source)), files));
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

    private static boolean isImmutable(PropertySource<?> source) {
        return IMMUTABLE_SOURCES.contains(source.getName())
                || ConfigurationPropertySources.isAttachedConfigurationPropertySource(source);
    }

    /** The file of a property source; null if the source has no file or no properties. */
    static @Nullable Resource fileOf(PropertySource<?> source) {
        Resource resource = resourceOf(source);
        return resource instanceof OriginTrackedResource tracked ? tracked.getResource() : resource;
    }

    private static @Nullable Resource resourceOf(PropertySource<?> source) {
        if (source instanceof EnumerablePropertySource<?> enumerable && enumerable.getPropertyNames().length > 0) {
            Origin origin = OriginLookup.getOrigin(enumerable, enumerable.getPropertyNames()[0]);
            return origin instanceof TextResourceOrigin text ? text.getResource() : null;
        }
        return null;
    }

    /** The current content of the source's file; null if the file has several documents. */
    private static @Nullable PropertySource<?> load(PropertySource<?> source, LoadedFile text) throws IOException {
        Resource resource = resourceOf(source) instanceof OriginTrackedResource tracked
                ? OriginTrackedResource.of(text, Origin.from(tracked))
                : text;
        List<PropertySource<?>> documents = new YamlPropertySourceLoader().load(source.getName(), resource);
        return documents.size() == 1 ? documents.getFirst() : null;
    }

    /** Whether only reloadable properties differ. */
    private static boolean isReloadable(PropertySource<?> before, PropertySource<?> now) {
        Set<String> names = new HashSet<>(Set.of(((EnumerablePropertySource<?>) before).getPropertyNames()));
        names.addAll(Set.of(((EnumerablePropertySource<?>) now).getPropertyNames()));
        return names.stream().allMatch(name -> {
            Object was = before.getProperty(name);
            Object is = now.getProperty(name);
            return Objects.equals(was, is)
                    || (ConfigurationDifference.isReloadable(name) && !isEncrypted(was) && !isEncrypted(is));
        });
    }

    private static boolean isEncrypted(@Nullable Object value) {
        return value != null && value.toString().startsWith(ENCRYPTED);
    }
}
