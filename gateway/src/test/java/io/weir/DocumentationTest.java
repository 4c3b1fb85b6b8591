package io.weir;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.SourceTree;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The READMEs, the runbooks and the design records of the packages name only existing types and alerts. */
class DocumentationTest {

    private static final Path ROOT = Path.of("..");
    private static final int MAX_README_LINES = 150;

    /** A name of two or more capitalised words, which is a type's or an alert's. */
    private static final String TYPE_NAME = "[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+";

    private static final Pattern CODE_IN_MARKDOWN = Pattern.compile("`(" + TYPE_NAME + ")`");
    private static final Pattern CODE_IN_JAVADOC =
            Pattern.compile("\\{@(?:code|link|linkplain)\\s+(?:[a-z0-9]+\\.)*(" + TYPE_NAME + ")");
    private static final Pattern LINK = Pattern.compile("\\]\\((?!https?:|mailto:)([^)#\\s]*)(?:#([^)]*))?\\)");
    private static final Pattern HEADING = Pattern.compile("(?m)^#{1,6} (.*)$");
    private static final Pattern ALERT = Pattern.compile("alert: (\\w+)");

    private static Set<String> typeNames = Set.of();

    @BeforeAll
    static void readTypeNames() throws IOException {
        typeNames = typeNames();
    }

    @Test
    void readmeFitsOnAFewPages() throws IOException {
        assertThat(Files.readAllLines(ROOT.resolve("README.md"))).hasSizeLessThanOrEqualTo(MAX_README_LINES);
    }

    @Test
    void designRecordsNameTypesThatExist() throws IOException {
        List<Path> records = files("package-info.java");
        List<String> unknown = new ArrayList<>();
        for (Path record : records) {
            unknown.addAll(unknownNames(record, CODE_IN_JAVADOC, typeNames));
        }
        assertThat(records).hasSizeGreaterThan(20);
        assertThat(unknown).isEmpty();
    }

    @Test
    void pagesNameTypesAndAlertsThatExist() throws IOException {
        Set<String> known = new HashSet<>(typeNames);
        known.addAll(alertNames());
        List<String> unknown = new ArrayList<>();
        for (Path page : files(".md")) {
            unknown.addAll(unknownNames(page, CODE_IN_MARKDOWN, known));
        }
        assertThat(unknown).isEmpty();
    }

    @Test
    void linksOfPagesLeadToFilesAndHeadings() throws IOException {
        List<String> broken = new ArrayList<>();
        for (Path page : files(".md")) {
            Matcher links = LINK.matcher(Files.readString(page));
            while (links.find()) {
                Path target = links.group(1).isEmpty() ? page : page.resolveSibling(links.group(1));
                boolean leads = Files.exists(target)
                        && (links.group(2) == null || anchors(target).contains(links.group(2)));
                if (!leads) {
                    broken.add(page + ": " + links.group());
                }
            }
        }
        assertThat(broken).isEmpty();
    }

    /** The anchors of a page's headings: lower case, without punctuation, a hyphen for each blank. */
    private static Set<String> anchors(Path page) throws IOException {
        return HEADING.matcher(Files.readString(page))
                .results()
                .map(heading -> heading.group(1)
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N}_ -]", "")
                        .replace(' ', '-'))
                .collect(Collectors.toSet());
    }

    private static List<String> unknownNames(Path file, Pattern pattern, Set<String> known) throws IOException {
        Matcher names = pattern.matcher(Files.readString(file));
        List<String> unknown = new ArrayList<>();
        while (names.find()) {
            if (!known.contains(names.group(1))) {
                unknown.add(file + ": " + names.group(1));
            }
        }
        return unknown;
    }

    /** The simple names of this repository's types, of those on the class path, and of the JDK's. */
    private static Set<String> typeNames() throws IOException {
        Set<String> names = new HashSet<>();
        for (Path source : files(".java")) {
            names.add(source.getFileName().toString().replace(".java", ""));
        }
        for (String entry : System.getProperty("java.class.path").split(java.io.File.pathSeparator, -1)) {
            if (entry.endsWith(".jar")) {
                try (JarFile jar = new JarFile(entry)) {
                    jar.stream().forEach(file -> addTypeName(names, file.getName()));
                }
            }
        }
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("modules");
        try (Stream<Path> classes = Files.walk(modules)) {
            classes.forEach(path -> addTypeName(names, path.toString()));
        }
        return names;
    }

    private static void addTypeName(Set<String> names, String path) {
        if (path.endsWith(".class")) {
            String name = path.substring(path.lastIndexOf('/') + 1, path.length() - ".class".length());
            // Routes name predicates and filters without the suffix of their factories.
            names.add(name.replaceFirst("(RoutePredicate|GatewayFilter)Factory$", ""));
            names.addAll(List.of(name.split("\\$", -1)));
        }
    }

    private static Set<String> alertNames() throws IOException {
        Set<String> names = new HashSet<>();
        try (Stream<Path> rules = Files.walk(ROOT.resolve("ops/prometheus/rules"))) {
            for (Path rule : rules.filter(Files::isRegularFile).toList()) {
                ALERT.matcher(Files.readString(rule)).results().forEach(match -> names.add(match.group(1)));
            }
        }
        return names;
    }

    private static List<Path> files(String suffix) throws IOException {
        List<Path> found = new ArrayList<>(Stream.of("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
                .filter(name -> name.endsWith(suffix))
                .map(ROOT::resolve)
                .filter(Files::exists)
                .toList());
        for (String module : List.of("gateway", "backends-sim", "perf", "ops", "config")) {
            SourceTree.files(ROOT.resolve(module)).stream()
                    .filter(path -> path.toString().endsWith(suffix))
                    .forEach(found::add);
        }
        return found;
    }
}
