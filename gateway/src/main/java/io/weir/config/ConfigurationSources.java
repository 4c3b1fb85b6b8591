package io.weir.config;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.core.io.DescriptiveResource;
import org.springframework.core.io.Resource;

/**
 * All that is configured, read as a start would read it and by Spring Boot's own means: files, profiles, imports,
 * environment variables and the command line, in their order.
 *
 * <p>The YAML files that Spring Boot asks for are looked at on the way, because of one that does not parse it tells neither
 * name nor more than one fault.
 */
final class ConfigurationSources {

    private final ConfigurableEnvironment environment;
    private final Map<Resource, YamlFile> files;
    private final List<Problem> problems = new ArrayList<>();
    private boolean readable = true;

    private ConfigurationSources(ConfigurableEnvironment environment, Map<Resource, YamlFile> files) {
        this.environment = environment;
        this.files = files;
        ConfigurationPropertySources.attach(environment);
    }

    /** Reads what a start with these arguments would read. */
    static ConfigurationSources read(String... arguments) {
        return read(Map.of(), arguments);
    }

    /**
     * Reads what a start with these arguments would read.
     *
     * @param defaults what the application sets where nobody else does
     */
    static ConfigurationSources read(Map<String, Object> defaults, String... arguments) {
        ConfigurableEnvironment environment = new StandardReactiveWebEnvironment();
        environment.setConversionService(new ApplicationConversionService());
        if (arguments.length > 0) {
            environment.getPropertySources().addFirst(new SimpleCommandLinePropertySource(arguments));
        }
        if (!defaults.isEmpty()) {
            environment.getPropertySources().addLast(new DefaultPropertiesPropertySource(defaults));
        }
        Files files = new Files();
        ConfigurationSources sources = new ConfigurationSources(environment, files.read);
        sources.process(files);
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
    ConfigurationSources with(String name, Map<String, Object> values) {
        ConfigurableEnvironment over = new StandardReactiveWebEnvironment();
        over.setConversionService(environment.getConversionService());
        MutablePropertySources sources = over.getPropertySources();
        sources.forEach(source -> sources.remove(source.getName()));
        for (PropertySource<?> source : environment.getPropertySources()) {
            if (!ConfigurationPropertySources.isAttachedConfigurationPropertySource(source)
                    && !source.getName().equals(name)) {
                sources.addLast(source);
            }
        }
        sources.addFirst(new MapPropertySource(name, values));
        return new ConfigurationSources(over, files);
    }

    ConfigurableEnvironment environment() {
        return environment;
    }

    /** What is wrong with the files themselves. */
    List<Problem> problems() {
        return List.copyOf(problems);
    }

    /** Whether the properties could be read, in spite of the problems. */
    boolean areReadable() {
        return readable;
    }

    /** The tree of all names in them. */
    Written written() {
        return WrittenReader.read(environment, files);
    }

    private void process(Files files) {
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
        problems.addAll(files.problems);
        files.read.values().forEach(file -> problems.addAll(file.problems()));
        if (failure != null && problems.isEmpty()) {
            Throwable unknown = failure;
            problems.add(files.read.values().stream()
                    .flatMap(file -> file.unmade().stream())
                    .findFirst()
                    .orElseGet(() -> unreadable(unknown)));
        }
    }

    private static Problem unreadable(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            Place place = place(Origin.from(cause));
            if (cause instanceof ConfigDataNotFoundException missing) {
                return Problem.of(place, "spring.config", missing.getReferenceDescription(), "not found");
            }
            if (place.isFile()) {
                return Problem.of(place, "spring.config", null, String.valueOf(cause.getMessage()));
            }
        }
        Throwable root = NestedExceptionUtils.getMostSpecificCause(failure);
        return Problem.of(Place.elsewhere("configuration"), "", null, "not readable: " + root.getMessage());
    }

    private static Place place(@Nullable Origin origin) {
        @Nullable Origin plain = origin instanceof PropertySourceOrigin source ? source.getOrigin() : origin;
        return plain instanceof TextResourceOrigin text && text.getResource() != null
                ? Place.inFile(Place.nameOf(text.getResource()), lineOf(text))
                : Place.elsewhere("command line");
    }

    /** The line of a value, from 1; 0 if it is not known. */
    static int lineOf(TextResourceOrigin origin) {
        TextResourceOrigin.Location location = origin.getLocation();
        return location == null ? 0 : location.getLine() + 1;
    }

    /** Hands out resources, and looks at those that are YAML files before. */
    private static final class Files extends DefaultResourceLoader {

        /**
         * What is not on the class path, and never will be: Spring Boot asks for a dozen names each time, and to find that the
         * jars do not have them takes a good part of a reload.
         */
        private static final Set<String> ABSENT = ConcurrentHashMap.newKeySet();

        private static final int MAX_ABSENT = 100;

        final Map<Resource, YamlFile> read = new LinkedHashMap<>();
        final List<Problem> problems = new ArrayList<>();
        private final Map<String, Resource> resources = new LinkedHashMap<>();

        @Override
        public Resource getResource(String location) {
            if (ABSENT.contains(location)) {
                return new DescriptiveResource(location);
            }
            Resource resource = super.getResource(location);
            if (location.startsWith(CLASSPATH_URL_PREFIX) && ABSENT.size() < MAX_ABSENT && !resource.exists()) {
                ABSENT.add(location);
                return resource;
            }
            boolean yaml = location.endsWith(".yml") || location.endsWith(".yaml");
            return yaml && resource.isReadable()
                    ? resources.computeIfAbsent(location, any -> look(resource))
                    : resource;
        }

        private Resource look(Resource resource) {
            String name = Place.nameOf(resource);
            try {
                YamlFile file = YamlFile.read(name, resource);
                Resource readable = file.hasDuplicates()
                        ? new ByteArrayResource(
                                file.readable().getBytes(StandardCharsets.UTF_8), resource.getDescription())
                        : resource;
                read.put(readable, file);
                return readable;
            } catch (IOException e) {
                String why = e instanceof CharacterCodingException ? "not UTF-8" : "not readable: " + e;
                problems.add(Problem.of(Place.inFile(name, 0), "", null, why));
                return resource;
            }
        }
    }
}
