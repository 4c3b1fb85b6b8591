package io.weir.config;

import java.io.File;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.core.io.DescriptiveResource;
import org.springframework.core.io.Resource;

/** Hands out resources to Spring Boot, looks at those that are YAML files before, and remembers what it was asked for. */
final class ConfigurationFiles extends DefaultResourceLoader {

    /**
     * What is not on the class path, and never will be: Spring Boot asks for a dozen names each time, and to find that the
     * jars do not have them takes a good part of a reading.
     */
    private static final Set<String> ABSENT = ConcurrentHashMap.newKeySet();

    private static final int MAX_ABSENT = 100;

    /** In whose directories Spring Boot looks for files by itself, unless it is told where they are. */
    private static final String OF_DIRECTORIES = "file:./config/";

    /** What is at a place outside of the class path. */
    private enum Found {
        NOTHING,
        SOMETHING,
        /** Files may come in them unseen. */
        DIRECTORIES
    }

    private final Map<Resource, YamlFile> read = new LinkedHashMap<>();
    private final List<Problem> problems = new ArrayList<>();
    private final Map<String, Resource> resources = new LinkedHashMap<>();
    private final Map<String, Found> asked = new LinkedHashMap<>();

    /** The YAML files, by what Spring Boot was given to read in their place. */
    Map<Resource, YamlFile> read() {
        return Collections.unmodifiableMap(read);
    }

    /** Why files could not be read at all. */
    List<Problem> problems() {
        return Collections.unmodifiableList(problems);
    }

    /** Whether there are files where there were, and none elsewhere. */
    boolean areStillThere() {
        return asked.entrySet().stream()
                .allMatch(place -> place.getValue() != Found.DIRECTORIES
                        && place.getValue() == find(place.getKey(), super.getResource(place.getKey())));
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
        boolean yaml = location.endsWith(".yml") || location.endsWith(".yaml");
        return yaml && resource.isReadable() ? resources.computeIfAbsent(location, any -> look(resource)) : resource;
    }

    private static Found find(String location, Resource resource) {
        if (!resource.exists()) {
            return Found.NOTHING;
        }
        if (!location.equals(OF_DIRECTORIES)) {
            return Found.SOMETHING;
        }
        try {
            File[] below = resource.getFile()
                    .listFiles(file -> file.isDirectory() && !file.getName().startsWith(".."));
            return below == null || below.length == 0 ? Found.SOMETHING : Found.DIRECTORIES;
        } catch (IOException e) {
            return Found.DIRECTORIES;
        }
    }

    private Resource look(Resource resource) {
        String name = Place.nameOf(resource);
        try {
            YamlFile file = YamlFile.read(name, resource);
            Resource readable = file.hasDuplicates()
                    ? new ByteArrayResource(file.readable().getBytes(StandardCharsets.UTF_8), resource.getDescription())
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
