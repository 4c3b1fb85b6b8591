package io.weir.config.check;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A node in the tree of all property names in all sources, independent of their meaning. */
final class RawTree implements Place {

    /**
     * A property in a source.
     *
     * @param path the property's name in its original spelling
     * @param value the value in the source
     * @param precedence the precedence of the source; the lowest wins
     * @param yaml the YAML file; null if the source is something else
     */
    record Setting(
            String path,
            Object value,
            SourceLocation location,
            int precedence,
            @Nullable YamlFile yaml,
            boolean isEnvironmentVariable)
            implements Place {

        @Override
        public String text() {
            return String.valueOf(value);
        }
    }

    private final String path;
    private final String name;
    /** Computed once, because a search for a name compares it with those of all children. */
    private final String uniformName;

    private final boolean isBracketed;
    private final Map<String, RawTree> children = new LinkedHashMap<>();
    private final List<Setting> settings = new ArrayList<>();

    private RawTree(String path, String name, boolean isBracketed) {
        this.path = path;
        this.name = name;
        this.uniformName = PropertyNames.uniform(name);
        this.isBracketed = isBracketed;
    }

    static RawTree root() {
        return new RawTree("", "", false);
    }

    /** Adds a setting at its path. */
    void add(Setting setting) {
        RawTree node = this;
        String rest = setting.path();
        while (!rest.isEmpty()) {
            boolean bracket = rest.startsWith("[");
            int end = bracket ? closing(rest) : nextBoundary(rest);
            String element = bracket ? rest.substring(1, end) : rest.substring(0, end);
            rest = rest.substring(Math.min(rest.length(), bracket ? end + 1 : end));
            rest = rest.startsWith(".") ? rest.substring(1) : rest;
            node = node.child(element, bracket);
        }
        node.settings.add(setting);
    }

    private static int closing(String rest) {
        int open = 0;
        for (int i = 0; i < rest.length(); i++) {
            open += rest.charAt(i) == '[' ? 1 : rest.charAt(i) == ']' ? -1 : 0;
            if (open == 0) {
                return i;
            }
        }
        return rest.length();
    }

    private static int nextBoundary(String rest) {
        for (int i = 0; i < rest.length(); i++) {
            if (rest.charAt(i) == '.' || rest.charAt(i) == '[') {
                return i;
            }
        }
        return rest.length();
    }

    private RawTree child(String element, boolean bracket) {
        String shown = bracket ? '[' + element + ']' : element;
        String childPath = path.isEmpty() || bracket ? path + shown : path + '.' + shown;
        return children.computeIfAbsent(shown, any -> new RawTree(childPath, element, bracket));
    }

    @Override
    public String path() {
        return path;
    }

    /** The last element of the path, without brackets. */
    String name() {
        return name;
    }

    /**
     * Whether the name is in brackets: an index, or a name with characters that Spring Boot would otherwise
     * ignore.
     */
    boolean isBracketed() {
        return isBracketed;
    }

    boolean isIndex() {
        return isBracketed && !name.isEmpty() && name.chars().allMatch(Character::isDigit);
    }

    Stream<RawTree> children() {
        return children.values().stream();
    }

    /** The settings of this node, without those of its children. */
    List<Setting> settings() {
        return settings;
    }

    /** The text of the setting of this node with the highest precedence; null if there is none. */
    @Nullable
    String value() {
        return effective(List.of(this)).map(Setting::text).orElse(null);
    }

    /** The settings of this node and its descendants. */
    Stream<Setting> allSettings() {
        return Stream.concat(settings.stream(), children().flatMap(RawTree::allSettings));
    }

    /** The nodes with settings: this node and its descendants. */
    Stream<RawTree> leaves() {
        return Stream.concat(
                settings.isEmpty() ? Stream.empty() : Stream.of(this),
                children().flatMap(RawTree::leaves));
    }

    /** Whether only environment variables set this name; such a name may belong to another program. */
    boolean isEnvironmentOnly() {
        return allSettings().allMatch(Setting::isEnvironmentVariable);
    }

    /** The location of this name; in a YAML file, the line of its key. */
    @Override
    public SourceLocation location() {
        return location(any -> true);
    }

    /** The location of this name in the sources of these settings, of which there is at least one. */
    SourceLocation location(Predicate<Setting> included) {
        Setting first = allSettings()
                .filter(included)
                .min(Comparator.comparingInt(Setting::precedence).thenComparing(Setting::location))
                .orElseThrow();
        YamlFile yaml = first.yaml();
        return yaml == null
                ? first.location()
                : SourceLocation.inFile(
                        first.location().source(),
                        yaml.line(path, first.location().line()));
    }

    /** The children with this name, in any spelling. */
    static List<RawTree> find(List<RawTree> nodes, String dashed) {
        String uniform = PropertyNames.uniform(dashed);
        return nodes.stream()
                .flatMap(RawTree::children)
                .filter(child -> !child.isBracketed && child.uniformName.equals(uniform))
                .toList();
    }

    /** The nodes at a path. */
    static List<RawTree> at(RawTree root, String path) {
        List<RawTree> nodes = List.of(root);
        for (String element : path.split("\\.", -1)) {
            nodes = find(nodes, element);
        }
        return nodes;
    }

    /** The setting with the highest precedence. */
    static Optional<Setting> effective(List<RawTree> nodes) {
        return nodes.stream().flatMap(node -> node.settings.stream()).min(Comparator.comparingInt(Setting::precedence));
    }
}
