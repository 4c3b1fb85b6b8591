package io.weir.config.check;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
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
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.util.function.SingletonSupplier;

/**
 * All that is configured, read as a start would read it and by Spring Boot's own means: files, profiles, imports,
 * environment variables and the command line, in their order.
 *
 * <p>The YAML files that Spring Boot asks for are looked at on the way, because of one that does not parse it tells neither
 * name nor more than one fault.
 */
final class ConfigurationSources {

    private final ConfigurableEnvironment environment;
    private final Map<LoadedFile, YamlFile> files;
    private final Supplier<RawTree> rawTree;
    private final List<ConfigurationProblem> problems = new ArrayList<>();
    private boolean readable = true;

    private ConfigurationSources(ConfigurableEnvironment environment, Map<LoadedFile, YamlFile> files) {
        this.environment = environment;
        this.files = files;
        this.rawTree = SingletonSupplier.of(() -> RawTreeReader.read(environment, files));
        ConfigurationPropertySources.attach(environment);
    }

    /** Reads what a start with these arguments would read. */
    static ConfigurationSources read(String... arguments) {
        return read(new ConfigurationResourceLoader(), Map.of(), arguments);
    }

    /**
     * Reads what a start with these arguments would read.
     *
     * @param files hands them out
     * @param defaults what the application sets where nobody else does
     */
    static ConfigurationSources read(ConfigurationResourceLoader files, Map<String, Object> defaults, String... arguments) {
        ConfigurableEnvironment environment = new StandardReactiveWebEnvironment();
        environment.setConversionService(new ApplicationConversionService());
        // What has no value is a problem among others.
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

    /** What an environment has, whoever has read it. */
    static ConfigurationSources of(ConfigurableEnvironment environment) {
        return new ConfigurationSources(environment, Map.of());
    }

    /**
     * The same, with values that win over all others.
     *
     * @param name who has set them
     */
    ConfigurationSources withOverrides(String name, Map<String, Object> values) {
        ConfigurableEnvironment over = copy(source -> source.getName().equals(name) ? null : source);
        over.getPropertySources().addFirst(new MapPropertySource(name, values));
        return new ConfigurationSources(over, files);
    }

    /**
     * The same with other files.
     *
     * @param replaced what takes a source's place; itself, if that is as it was
     */
    ConfigurationSources withFiles(
            Map<LoadedFile, YamlFile> others, Function<PropertySource<?>, @Nullable PropertySource<?>> replaced) {
        return new ConfigurationSources(copy(replaced), others);
    }

    private ConfigurableEnvironment copy(Function<PropertySource<?>, @Nullable PropertySource<?>> changed) {
        ConfigurableEnvironment copy = new StandardReactiveWebEnvironment();
        copy.setConversionService(environment.getConversionService());
        copy.setIgnoreUnresolvableNestedPlaceholders(true);
        copy.setDefaultProfiles(environment.getDefaultProfiles());
        copy.setActiveProfiles(environment.getActiveProfiles());
        MutablePropertySources sources = copy.getPropertySources();
        sources.forEach(source -> sources.remove(source.getName()));
        for (PropertySource<?> source : environment.getPropertySources()) {
            if (!ConfigurationPropertySources.isAttachedConfigurationPropertySource(source)) {
                PropertySource<?> next = changed.apply(source);
                if (next != null) {
                    sources.addLast(next);
                }
            }
        }
        return copy;
    }

    /** The YAML files, by what Spring Boot has read. */
    Map<LoadedFile, YamlFile> files() {
        return files;
    }

    ConfigurableEnvironment environment() {
        return environment;
    }

    /** What is wrong with the files themselves. */
    List<ConfigurationProblem> problems() {
        return List.copyOf(problems);
    }

    /** Whether the properties could be read, in spite of the problems. */
    boolean areReadable() {
        return readable;
    }

    /** The tree of all names in them. */
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
            // The stack overflows at an alias that contains itself.
            failure = e;
            readable = false;
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
                return ConfigurationProblem.of(location, "spring.config", missing.getReferenceDescription(), "not found");
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
                ? SourceLocation.inFile(SourceLocation.displayName(text.getResource()), lineOf(text))
                : SourceLocation.outsideFiles("command line");
    }

    /** The line of a value, from 1; 0 if it is not known. */
    static int lineOf(TextResourceOrigin origin) {
        TextResourceOrigin.Location location = origin.getLocation();
        return location == null ? 0 : location.getLine() + 1;
    }
}
