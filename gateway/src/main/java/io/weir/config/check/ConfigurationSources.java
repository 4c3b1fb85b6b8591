package io.weir.config.check;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.bootstrap.DefaultBootstrapContext;
import org.springframework.boot.context.config.ConfigDataNotFoundException;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.boot.env.DefaultPropertiesPropertySource;
import org.springframework.boot.origin.Origin;
import org.springframework.boot.origin.PropertySourceOrigin;
import org.springframework.boot.origin.TextResourceOrigin;
import org.springframework.boot.support.EnvironmentPostProcessorsFactory;
import org.springframework.boot.web.context.reactive.StandardReactiveWebEnvironment;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.util.function.SingletonSupplier;

/**
 * All configuration sources, loaded by Spring Boot as at startup: files, profiles, imports, environment
 * variables and the command line, in order of precedence.
 *
 * <p>Each YAML file that Spring Boot requests is checked first, because for a file that does not parse Spring
 * Boot reports only one problem and no file name.
 */
final class ConfigurationSources {

    private final ConfigurableEnvironment environment;
    private final Map<LoadedFile, YamlFile> files;
    private final Supplier<RawTree> rawTree;
    private final List<ConfigurationProblem> problems = new ArrayList<>();
    private boolean isReadable = true;

    private ConfigurationSources(ConfigurableEnvironment environment, Map<LoadedFile, YamlFile> files) {
        this.environment = environment;
        this.files = files;
        this.rawTree = SingletonSupplier.of(() -> RawTreeReader.read(environment, files));
        ConfigurationPropertySources.attach(environment);
    }

    /** Loads the configuration that a start with these arguments would load. */
    static ConfigurationSources read(String... arguments) {
        return read(new ConfigurationResourceLoader(), Map.of(), arguments);
    }

    /**
     * Loads the configuration that a start with these arguments would load.
     *
     * @param files provides the files
     * @param defaults the application's own default properties
     */
    static ConfigurationSources read(
            ConfigurationResourceLoader files, Map<String, Object> defaults, String... arguments) {
        ConfigurableEnvironment environment = new StandardReactiveWebEnvironment();
        environment.setConversionService(new ApplicationConversionService());
        // A placeholder without a value is reported together with the other problems.
        environment.setIgnoreUnresolvableNestedPlaceholders(true);
        if (arguments.length > 0) {
            environment.getPropertySources().addFirst(new SimpleCommandLinePropertySource(arguments));
        }
        if (!defaults.isEmpty()) {
            environment.getPropertySources().addLast(new DefaultPropertiesPropertySource(defaults));
        }
        ConfigurationSources sources = new ConfigurationSources(environment, files.yamlFiles());
        sources.runPostProcessors(files);
        return sources;
    }

    /** The sources of an existing environment. */
    static ConfigurationSources of(ConfigurableEnvironment environment) {
        return new ConfigurationSources(environment, Map.of());
    }

    /**
     * These sources with values that override all others.
     *
     * @param name the name of the overriding source
     */
    ConfigurationSources withOverrides(String name, Map<String, Object> values) {
        ConfigurableEnvironment copy = new StandardReactiveWebEnvironment();
        copy.setConversionService(environment.getConversionService());
        copy.setIgnoreUnresolvableNestedPlaceholders(true);
        copy.setDefaultProfiles(environment.getDefaultProfiles());
        copy.setActiveProfiles(environment.getActiveProfiles());
        MutablePropertySources sources = copy.getPropertySources();
        sources.forEach(source -> sources.remove(source.getName()));
        sources.addFirst(new MapPropertySource(name, values));
        environment.getPropertySources().stream()
                .filter(source -> !ConfigurationPropertySources.isAttachedConfigurationPropertySource(source)
                        && !source.getName().equals(name))
                .forEach(sources::addLast);
        return new ConfigurationSources(copy, files);
    }

    /** The YAML files, by the resource that Spring Boot read. */
    Map<LoadedFile, YamlFile> files() {
        return files;
    }

    ConfigurableEnvironment environment() {
        return environment;
    }

    /** The problems of the files themselves. */
    List<ConfigurationProblem> problems() {
        return List.copyOf(problems);
    }

    /** Whether the properties were loaded in spite of the problems. */
    boolean areReadable() {
        return isReadable;
    }

    /** The tree of all property names in these sources. */
    RawTree rawTree() {
        return rawTree.get();
    }

    private void runPostProcessors(ConfigurationResourceLoader files) {
        SpringApplication application = new SpringApplication();
        application.setResourceLoader(files);
        DefaultBootstrapContext bootstrap = new DefaultBootstrapContext();
        @Nullable Throwable failure = null;
        try {
            for (EnvironmentPostProcessor processor : EnvironmentPostProcessorsFactory.fromSpringFactories(null)
                    .getEnvironmentPostProcessors(Supplier::get, bootstrap)) {
                processor.postProcessEnvironment(environment, application);
            }
        } catch (RuntimeException | StackOverflowError e) {
            // A YAML alias that contains itself overflows the stack.
            failure = e;
            isReadable = false;
        }
        problems.addAll(files.problems());
        files.yamlFiles().values().forEach(file -> problems.addAll(file.problems()));
        if (failure != null && problems.isEmpty()) {
            Throwable unknown = failure;
            problems.add(files.yamlFiles().values().stream()
                    .flatMap(file -> file.constructionProblem().stream())
                    .findFirst()
                    .orElseGet(() -> unreadable(unknown)));
        }
    }

    private static ConfigurationProblem unreadable(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            SourceLocation location = location(Origin.from(cause));
            if (cause instanceof ConfigDataNotFoundException missing) {
                return ConfigurationProblem.of(
                        location, "spring.config", missing.getReferenceDescription(), "not found");
            }
            if (location.isFile()) {
                return ConfigurationProblem.of(location, "spring.config", null, String.valueOf(cause.getMessage()));
            }
        }
        Throwable root = NestedExceptionUtils.getMostSpecificCause(failure);
        return ConfigurationProblem.of(
                SourceLocation.outsideFiles("configuration"), "", null, "not readable: " + root.getMessage());
    }

    private static SourceLocation location(@Nullable Origin origin) {
        @Nullable Origin plain = origin instanceof PropertySourceOrigin source ? source.getOrigin() : origin;
        return plain instanceof TextResourceOrigin text && text.getResource() != null
                ? SourceLocation.inFile(SourceLocation.displayName(text.getResource()), SourceLocation.lineOf(text))
                : SourceLocation.outsideFiles("command line");
    }
}
