package io.weir.config.check;

import io.weir.config.check.RawTree.Setting;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.origin.Origin;
import org.springframework.boot.origin.OriginLookup;
import org.springframework.boot.origin.OriginTrackedResource;
import org.springframework.boot.origin.TextResourceOrigin;
import org.springframework.core.env.CommandLinePropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.io.Resource;

/** Collects all property names in an environment's sources. */
final class RawTreeReader {

    /**
     * The source that repeats all others, and environment variables, which {@link EnvironmentVariables}
     * reads.
     */
    private static final Set<String> SKIPPED =
            Set.of("configurationProperties", StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME);

    /** The names of properties that nothing reads: a user's own, for YAML's anchors. */
    private static final String OWN = "x-";

    /** The location of command line arguments. */
    static final String COMMAND_LINE = "command line";

    private final RawTree root = RawTree.root();
    private final Map<LoadedFile, YamlFile> files;
    private int precedence;

    private RawTreeReader(Map<LoadedFile, YamlFile> files) {
        this.files = files;
    }

    static RawTree read(ConfigurableEnvironment environment, Map<LoadedFile, YamlFile> files) {
        RawTreeReader reader = new RawTreeReader(files);
        EnvironmentVariables.of(environment).addTo(reader.root);
        for (PropertySource<?> source : environment.getPropertySources()) {
            reader.precedence = environment.getPropertySources().precedenceOf(source);
            if (source instanceof EnumerablePropertySource<?> enumerable && !SKIPPED.contains(source.getName())) {
                reader.addProperties(enumerable);
            }
        }
        return reader.root;
    }

    private void addProperties(EnumerablePropertySource<?> source) {
        YamlFile yaml = yamlOf(source);
        for (String name : source.getPropertyNames()) {
            Object value = source.getProperty(name);
            if (value != null && !name.startsWith(OWN)) {
                root.add(setting(source, yaml, name, value));
            }
        }
    }

    /** The file of a source; null: it is no file, or none of its values has an origin. */
    private @Nullable YamlFile yamlOf(EnumerablePropertySource<?> source) {
        for (String name : source.getPropertyNames()) {
            if (OriginLookup.getOrigin(source, name) instanceof TextResourceOrigin text && text.getResource() != null) {
                return files.get(plain(text.getResource()));
            }
        }
        return null;
    }

    private static Resource plain(Resource resource) {
        return resource instanceof OriginTrackedResource tracked ? tracked.getResource() : resource;
    }

    private Setting setting(PropertySource<?> source, @Nullable YamlFile file, String name, Object value) {
        @Nullable Origin origin = OriginLookup.getOrigin(source, name);
        if (origin instanceof TextResourceOrigin text && text.getResource() != null) {
            Resource resource = plain(text.getResource());
            int line = SourceLocation.lineOf(text);
            YamlFile yaml = files.get(resource);
            SourceLocation location = yaml == null
                    ? SourceLocation.inFile(SourceLocation.displayName(resource), line)
                    : SourceLocation.inFile(yaml.name(), yaml.line(name, line));
            return new Setting(name, value, location, precedence, yaml, false);
        }
        if (file != null) {
            // Spring Boot knows the origins of scalars only, not that of an empty group such as {}.
            SourceLocation location = SourceLocation.inFile(file.name(), file.line(name, 0));
            return new Setting(name, value, location, precedence, file, false);
        }
        return new Setting(name, value, SourceLocation.outsideFiles(nameOf(source)), precedence, null, false);
    }

    private static String nameOf(PropertySource<?> source) {
        if (source instanceof CommandLinePropertySource) {
            return COMMAND_LINE;
        }
        return StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME.equals(source.getName())
                ? "system properties"
                : source.getName();
    }
}
