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

/** Provides resources to Spring Boot, checks YAML files first, and records every requested location. */
final class ConfigurationResourceLoader extends DefaultResourceLoader {

    /**
     * Locations without a resource on the class path. Spring Boot requests a dozen such names in each load,
     * and the search through the jars takes a large part of the load's time. The class path does not change.
     */
    private static final Set<String> NOT_ON_CLASS_PATH = ConcurrentHashMap.newKeySet();

    private static final int MAX_NOT_ON_CLASS_PATH = 100;

    /** Spring Boot only checks whether this directory exists. */
    private static final String WORKING_DIRECTORY = "file:./";

    /** The content of a location outside the class path. */
    private enum LocationContent {
        ABSENT,
        YAML,
        DIRECTORY,
        /** Not tracked: files that are not YAML, and files in subdirectories. */
        OTHER
    }

    private final Map<LoadedFile, YamlFile> yamlFiles = new LinkedHashMap<>();
    private final List<ConfigurationProblem> problems = new ArrayList<>();
    private final Map<String, Resource> resources = new LinkedHashMap<>();
    private final Map<String, LocationContent> requested = new LinkedHashMap<>();

    /** The YAML files, by the resource that Spring Boot receives instead. */
    Map<LoadedFile, YamlFile> yamlFiles() {
        return Collections.unmodifiableMap(yamlFiles);
    }

    /** The problems of unreadable files. */
    List<ConfigurationProblem> problems() {
        return Collections.unmodifiableList(problems);
    }

    /**
     * Whether every requested location has the same kind of content as before, and all content is tracked.
     */
    boolean areUnchanged() {
        return requested.entrySet().stream()
                .allMatch(entry -> entry.getValue() != LocationContent.OTHER
                        && entry.getValue() == contentOf(entry.getKey(), super.getResource(entry.getKey())));
    }

    /**
     * The files outside the class path, including the absent files that Spring Boot would load if they
     * existed.
     */
    Set<Path> searchedFiles() {
        Set<Path> searchedFiles = new LinkedHashSet<>();
        requested.forEach((location, content) -> {
            Resource resource = super.getResource(location);
            if (content != LocationContent.DIRECTORY && resource.isFile()) {
                try {
                    searchedFiles.add(resource.getFile().toPath());
                } catch (IOException e) {
                    // The resource claims to be a file but has none; there is nothing to watch.
                }
            }
        });
        return searchedFiles;
    }

    @Override
    public Resource getResource(String location) {
        if (NOT_ON_CLASS_PATH.contains(location)) {
            return new DescriptiveResource(location);
        }
        Resource resource = super.getResource(location);
        if (!location.startsWith(CLASSPATH_URL_PREFIX)) {
            requested.computeIfAbsent(location, any -> contentOf(location, resource));
        } else if (NOT_ON_CLASS_PATH.size() < MAX_NOT_ON_CLASS_PATH && !resource.exists()) {
            NOT_ON_CLASS_PATH.add(location);
            return resource;
        }
        return isYaml(location) && resource.isReadable()
                ? resources.computeIfAbsent(location, any -> readYaml(resource))
                : resource;
    }

    private static LocationContent contentOf(String location, Resource resource) {
        if (!resource.exists()) {
            return LocationContent.ABSENT;
        }
        try {
            File file = resource.getFile();
            if (!file.isDirectory()) {
                return isYaml(location) ? LocationContent.YAML : LocationContent.OTHER;
            }
            return location.equals(WORKING_DIRECTORY) || !hasDirectories(file)
                    ? LocationContent.DIRECTORY
                    : LocationContent.OTHER;
        } catch (IOException e) {
            return LocationContent.OTHER;
        }
    }

    private static boolean isYaml(String location) {
        return location.endsWith(".yml") || location.endsWith(".yaml");
    }

    /**
     * Whether Spring Boot would search subdirectories here, for a pattern such as its own {@code ./config/*}.
     */
    private static boolean hasDirectories(File directory) {
        File[] directories = directory.listFiles(
                file -> file.isDirectory() && !file.getName().startsWith(".."));
        return directories == null || directories.length > 0;
    }

    private Resource readYaml(Resource resource) {
        String name = SourceLocation.displayName(resource);
        try {
            YamlFile file = YamlFile.read(name, resource);
            LoadedFile text = new LoadedFile(resource, file.readable());
            yamlFiles.put(text, file);
            return text;
        } catch (IOException e) {
            String why = e instanceof CharacterCodingException ? "not UTF-8" : "not readable: " + e;
            problems.add(ConfigurationProblem.of(SourceLocation.inFile(name, 0), "", null, why));
            return resource;
        }
    }
}
