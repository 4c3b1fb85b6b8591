package io.weir.sim;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.core.env.PropertySource;
import org.springframework.core.io.FileSystemResource;
import org.springframework.core.type.filter.AnnotationTypeFilter;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code config/simulator.yml} shows every property with its real default. */
class SimulatorConfigurationTest {

    private static final Path FILE = Path.of("..", "config", "simulator.yml");

    private static PropertySource<?> file() throws IOException {
        List<PropertySource<?>> documents =
                new YamlPropertySourceLoader().load("simulator", new FileSystemResource(FILE));
        assertThat(documents).hasSize(1);
        return documents.getFirst();
    }

    private static Set<String> properties() throws IOException {
        try (InputStream metadata =
                SimulatorConfigurationTest.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            Set<String> names = new TreeSet<>(Set.of("sim.stack"));
            for (JsonNode property : JsonMapper.shared().readTree(metadata).get("properties")) {
                names.add(property.get("name").stringValue());
            }
            return names.stream()
                    .filter(name -> name.startsWith("sim."))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    static List<Class<?>> propertyRecords() throws ClassNotFoundException {
        ClassPathScanningCandidateComponentProvider scanner = new ClassPathScanningCandidateComponentProvider(false);
        scanner.addIncludeFilter(new AnnotationTypeFilter(ConfigurationProperties.class));
        List<Class<?>> records = new java.util.ArrayList<>();
        for (BeanDefinition found : scanner.findCandidateComponents("io.weir.sim")) {
            records.add(Class.forName(found.getBeanClassName()));
        }
        return records;
    }

    @ParameterizedTest
    @MethodSource("propertyRecords")
    void showsTheRealDefaults(Class<?> properties) throws IOException {
        String prefix = properties.getAnnotation(ConfigurationProperties.class).value();
        MutablePropertySources sources = new MutablePropertySources();
        sources.addFirst(file());

        assertThat(new Binder(ConfigurationPropertySources.from(sources)).bindOrCreate(prefix, Bindable.of(properties)))
                .isEqualTo(new Binder(new MapConfigurationPropertySource(Map.of()))
                        .bindOrCreate(prefix, Bindable.of(properties)));
    }

    @Test
    void showsExactlyTheExistingProperties() throws IOException {
        Set<String> known = properties();
        Set<String> set = new TreeSet<>();
        for (String name : ((EnumerablePropertySource<?>) file()).getPropertyNames()) {
            if (name.startsWith("sim.")) {
                set.add(name);
            }
        }
        String text = Files.readString(FILE);

        assertThat(known).containsAll(set).hasSizeGreaterThan(25);
        known.removeAll(set);
        // Properties without a default are shown in a comment.
        assertThat(known)
                .allSatisfy(name -> assertThat(text).contains("# " + name.substring(name.lastIndexOf('.') + 1) + ":"));
    }

    @Test
    void readmeNamesOnlyExistingProperties() throws IOException {
        Set<String> existing = properties();

        assertThat(Pattern.compile("(?<![\\w.-])sim\\.[a-z-]+(?:\\.[a-z-]+)*")
                        .matcher(Files.readString(Path.of("README.md")))
                        .results()
                        .map(MatchResult::group))
                .isNotEmpty()
                .allMatch(name -> existing.contains(name)
                        || existing.stream().anyMatch(property -> property.startsWith(name + ".")));
    }
}
