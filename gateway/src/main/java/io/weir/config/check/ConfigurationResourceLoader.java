package io.weir.config.check;

import java.io.File;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.core.io.DescriptiveResource;
import org.springframework.core.io.Resource;

/** Hands out resources to Spring Boot, looks at those that are YAML files before, and remembers what it was asked for. */
final class ConfigurationResourceLoader extends DefaultResourceLoader {

    /**
     * What is not on the class path, and never will be: Spring Boot asks for a dozen names each time, and to find that the
     * jars do not have them takes a good part of a reading.
     */
    private static final Set<String> ABSENT = ConcurrentHashMap.newKeySet();

    private static final int MAX_ABSENT = 100;

    /** Of this one, Spring Boot only wants to know whether it is there. */
    private static final String HERE = "file:./";

    /** What is at a place outside of the class path. */
    private enum Found {
        NOTHING,
        YAML,
        DIRECTORY,
        /** What is read of it is not known here: files of another kind, and those in a directory's directories. */
        OTHER
    }

    private final Map<LoadedFile, YamlFile> read = new LinkedHashMap<>();
    private final List<ConfigurationProblem> problems = new ArrayList<>();
    private final Map<String, Resource> resources = new LinkedHashMap<>();
    private final Map<String, Found> asked = new LinkedHashMap<>();

    /** The YAML files, by what Spring Boot was given to read in their place. */
    Map<LoadedFile, YamlFile> read() {
        return Collections.unmodifiableMap(read);
    }

    /** Why files could not be read at all. */
    List<ConfigurationProblem> problems() {
        return Collections.unmodifiableList(problems);
    }

    /** Whether there are files where there were, and none elsewhere. */
    boolean areStillThere() {
        return asked.entrySet().stream()
                .allMatch(place -> place.getValue() != Found.OTHER
                        && place.getValue() == find(place.getKey(), super.getResource(place.getKey())));
    }

    /** The files outside of the class path, and where others would be read from if they were there. */
    Set<Path> places() {
        Set<Path> places = new LinkedHashSet<>();
        asked.forEach((location, found) -> {
            Resource resource = super.getResource(location);
            if (found != Found.DIRECTORY && resource.isFile()) {
                try {
                    places.add(resource.getFile().toPath());
                } catch (IOException e) {
                    // It says that it is one, and is none: there is nothing to look at.
                }
            }
        });
        return places;
    }

    @Override
    public Resource getResource(String location) {
        if (ABSENT.contains(location)) {
            return new DescriptiveResource(location);
        }
        Resource resource = super.getResource(location);
        if (!location.startsWith(CLASSPATH_URL_PREFIX)) {
            asked.computeIfAbsent(location, any -> find(location, resource));
        } else if (ABSENT.size() < MAX_ABSENT && !resource.exists()) {
            ABSENT.add(location);
            return resource;
        }
        return isYaml(location) && resource.isReadable()
                ? resources.computeIfAbsent(location, any -> look(resource))
                : resource;
    }

    private static Found find(String location, Resource resource) {
        if (!resource.exists()) {
            return Found.NOTHING;
        }
        try {
            File file = resource.getFile();
            if (!file.isDirectory()) {
                return isYaml(location) ? Found.YAML : Found.OTHER;
            }
            return location.equals(HERE) || !hasDirectories(file) ? Found.DIRECTORY : Found.OTHER;
        } catch (IOException e) {
            return Found.OTHER;
        }
    }

    private static boolean isYaml(String location) {
        return location.endsWith(".yml") || location.endsWith(".yaml");
    }

    /** Whether there are such as Spring Boot looks into, for a pattern such as its own {@code ./config/*}. */
    private static boolean hasDirectories(File directory) {
        File[] below = directory.listFiles(
                file -> file.isDirectory() && !file.getName().startsWith(".."));
        return below == null || below.length > 0;
    }

    private Resource look(Resource resource) {
        String name = SourceLocation.nameOf(resource);
        try {
            YamlFile file = YamlFile.read(name, resource);
            LoadedFile text = new LoadedFile(resource, file.readable());
            read.put(text, file);
            return text;
        } catch (IOException e) {
            String why = e instanceof CharacterCodingException ? "not UTF-8" : "not readable: " + e;
            problems.add(ConfigurationProblem.of(SourceLocation.inFile(name, 0), "", null, why));
            return resource;
        }
    }
}
