package io.weir.config.check;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.springframework.core.io.Resource;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.DumperOptions.ScalarStyle;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.reader.ReaderException;
import org.yaml.snakeyaml.reader.UnicodeReader;
import org.yaml.snakeyaml.representer.Representer;

/**
 * A YAML file before Spring Boot converts it to properties: its YAML problems, and the lines of its keys.
 * Spring Boot stops at the first problem, does not name the file, and records only the lines of values.
 */
final class YamlFile {

    /** Numbers that YAML 1.1 reads in base 8 (010), and below in base 60 (1:30). */
    private static final Pattern OCTAL = Pattern.compile("[-+]?0[0-7_]+");

    private static final Pattern SEXAGESIMAL = Pattern.compile("[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+");
    private static final Pattern TAB_INDENT = Pattern.compile("(?m)^ *\\t");
    private static final Set<String> TRUE_WORDS = Set.of("true", "yes", "on");
    private static final String WEIR_PREFIX = "weir.";

    private final String name;
    private final String text;
    private final List<ConfigurationProblem> problems = new ArrayList<>();
    private final Map<String, List<Integer>> lines = new HashMap<>();
    private boolean hasDuplicates;
    /** The text for Spring Boot. */
    private String readable;

    private YamlFile(String name, String text) {
        this.name = name;
        this.text = text;
        this.readable = text;
    }

    /** Reads and checks a file. */
    static YamlFile read(String name, Resource resource) throws IOException {
        return of(name, text(resource));
    }

    private static String text(Resource resource) throws IOException {
        try (InputStream in = resource.getInputStream();
                UnicodeReader reader = new UnicodeReader(in)) {
            StringWriter text = new StringWriter();
            reader.transferTo(text);
            return text.toString();
        }
    }

    /** Whether the text is still that of the file. */
    boolean hasTextOf(Resource resource) {
        try {
            return text(resource).equals(text);
        } catch (IOException e) {
            // The next load reports it.
            return false;
        }
    }

    /** Checks a text. */
    static YamlFile of(String name, String text) {
        YamlFile file = new YamlFile(name, text);
        file.parse();
        return file;
    }

    List<ConfigurationProblem> problems() {
        return Collections.unmodifiableList(problems);
    }

    /** The name of the file in reports. */
    String name() {
        return name;
    }

    /**
     * The text for Spring Boot. Spring Boot rejects duplicate keys, so they are merged, which changes the
     * line numbers.
     */
    String readable() {
        return readable;
    }

    private static String textOf(List<Node> documents) {
        StringWriter merged = new StringWriter();
        for (Node document : documents) {
            merged.write("---\n");
            yaml().serialize(document, merged);
        }
        return merged.toString();
    }

    /**
     * The line of a property's key.
     *
     * @param near the line of its value according to Spring Boot; distinguishes the documents of one file
     */
    int line(String path, int near) {
        List<Integer> candidates = lines.getOrDefault(path, List.of());
        if (candidates.isEmpty()) {
            return hasDuplicates ? 0 : near;
        }
        // The text with merged keys has other line numbers.
        return candidates.stream()
                .filter(line -> !hasDuplicates && line <= near)
                .max(Integer::compare)
                .orElseGet(candidates::getFirst);
    }

    private static Yaml yaml() {
        LoaderOptions options = new LoaderOptions();
        options.setMaxAliasesForCollections(Integer.MAX_VALUE);
        options.setCodePointLimit(Integer.MAX_VALUE);
        DumperOptions dump = new DumperOptions();
        return new Yaml(new SafeConstructor(options), new Representer(dump), dump, options);
    }

    private void parse() {
        // Not kept: the nodes take several times as much memory as the text.
        List<Node> documents = new ArrayList<>();
        try {
            for (Node document : yaml().composeAll(new StringReader(text))) {
                documents.add(document);
                if (document instanceof MappingNode mapping) {
                    mergeDuplicates(mapping, "", Collections.newSetFromMap(new IdentityHashMap<>()));
                    index(mapping, "", Collections.newSetFromMap(new IdentityHashMap<>()));
                } else if (!(document instanceof ScalarNode scalar
                        && scalar.getValue().isEmpty())) {
                    addProblem(document.getStartMark(), "", "expected: properties at the top level, such as weir:");
                }
            }
        } catch (MarkedYAMLException e) {
            reportSyntaxError(e);
        } catch (ReaderException e) {
            int line = (int) text.codePoints()
                            .limit(e.getPosition())
                            .filter(c -> c == '\n')
                            .count()
                    + 1;
            problems.add(ConfigurationProblem.of(
                    SourceLocation.inFile(name, line),
                    "",
                    null,
                    "not YAML: a character that is not allowed, " + hex(e)));
        } catch (YAMLException e) {
            problems.add(
                    ConfigurationProblem.of(SourceLocation.inFile(name, 0), "", null, "not YAML: " + e.getMessage()));
        }
        if (hasDuplicates) {
            readable = textOf(documents);
        }
    }

    private static String hex(ReaderException e) {
        return "U+%04X".formatted(e.getCodePoint());
    }

    /**
     * The problem of a syntactically valid file whose values cannot be constructed: an explicit type that
     * does not match.
     */
    Optional<ConfigurationProblem> constructionProblem() {
        try {
            yaml().loadAll(text).forEach(document -> {});
            return Optional.empty();
        } catch (MarkedYAMLException e) {
            return Optional.of(ConfigurationProblem.of(
                    SourceLocation.inFile(
                            name,
                            e.getProblemMark() == null ? 0 : e.getProblemMark().getLine() + 1),
                    "",
                    null,
                    "not readable: " + e.getProblem()));
        } catch (RuntimeException e) {
            return Optional.of(ConfigurationProblem.of(
                    SourceLocation.inFile(name, 0), "", null, "not readable: " + e.getMessage()));
        }
    }

    private void reportSyntaxError(MarkedYAMLException e) {
        Mark mark = e.getProblemMark() != null ? e.getProblemMark() : e.getContextMark();
        int line = mark == null ? 0 : mark.getLine() + 1;
        long tabs = TAB_INDENT.matcher(text).results().count();
        String error = String.valueOf(e.getProblem());
        if (error.contains("TAB") && tabs > 0) {
            error = "a tab indents this line" + (tabs > 1 ? " and " + (tabs - 1) + " more" : "")
                    + " (expected: spaces)";
        } else {
            error = "not YAML: " + error;
            if (e.getContext() != null) {
                error += ", " + e.getContext();
            }
            if (e.getContextMark() != null && e.getContextMark().getLine() + 1 != line) {
                error += " from line " + (e.getContextMark().getLine() + 1);
            }
        }
        problems.add(ConfigurationProblem.of(SourceLocation.inFile(name, line), "", null, error));
    }

    private void addProblem(Mark mark, String path, String why) {
        problems.add(ConfigurationProblem.of(SourceLocation.inFile(name, mark.getLine() + 1), path, null, why));
    }

    // ---------------------------------------------------------------- duplicate keys

    /** Merges duplicate keys of a mapping and of the mappings in it. */
    private void mergeDuplicates(Node node, String path, Set<Node> seen) {
        if (!seen.add(node)) {
            return;
        }
        if (node instanceof SequenceNode sequence) {
            for (int i = 0; i < sequence.getValue().size(); i++) {
                mergeDuplicates(sequence.getValue().get(i), path + '[' + i + ']', seen);
            }
        } else if (node instanceof MappingNode mapping) {
            Map<Object, NodeTuple> merged = new LinkedHashMap<>();
            for (NodeTuple tuple : mapping.getValue()) {
                String child = child(path, tuple.getKeyNode());
                mergeDuplicates(tuple.getValueNode(), child, seen);
                NodeTuple first = merged.putIfAbsent(key(tuple), tuple);
                if (first != null) {
                    reportDuplicate(child, first, tuple);
                    if (isMapping(first) && isMapping(tuple)) {
                        addAll((MappingNode) first.getValueNode(), (MappingNode) tuple.getValueNode(), child);
                    }
                }
            }
            mapping.setValue(new ArrayList<>(merged.values()));
        }
    }

    /** Adds the entries of a key's second occurrence to those of its first. */
    private void addAll(MappingNode into, MappingNode from, String path) {
        Map<Object, NodeTuple> merged = new LinkedHashMap<>();
        into.getValue().forEach(tuple -> merged.put(key(tuple), tuple));
        for (NodeTuple tuple : from.getValue()) {
            NodeTuple first = merged.putIfAbsent(key(tuple), tuple);
            if (first != null && isMapping(first) && isMapping(tuple)) {
                addAll(
                        (MappingNode) first.getValueNode(),
                        (MappingNode) tuple.getValueNode(),
                        child(path, tuple.getKeyNode()));
            } else if (first != null) {
                reportDuplicate(child(path, tuple.getKeyNode()), first, tuple);
            }
        }
        into.setValue(new ArrayList<>(merged.values()));
    }

    private void reportDuplicate(String path, NodeTuple first, NodeTuple second) {
        hasDuplicates = true;
        addProblem(
                second.getKeyNode().getStartMark(),
                path,
                "duplicate key, first in line "
                        + (first.getKeyNode().getStartMark().getLine() + 1));
    }

    /** A merge key may occur repeatedly. on and yes are the same key, true. */
    private static Object key(NodeTuple tuple) {
        if (tuple.getKeyNode() instanceof ScalarNode scalar && !scalar.getTag().equals(Tag.MERGE)) {
            return scalar.getTag().equals(Tag.BOOL) ? isTrue(scalar.getValue()) : scalar.getValue();
        }
        return tuple.getKeyNode();
    }

    private static boolean isTrue(String word) {
        return TRUE_WORDS.contains(word.toLowerCase(Locale.ROOT));
    }

    private static boolean isMapping(NodeTuple tuple) {
        return tuple.getValueNode() instanceof MappingNode;
    }

    // ---------------------------------------------------------------- lines

    /** Records the line of every key, by Spring Boot's name of the property. */
    private void index(Node node, String path, Set<Node> above) {
        if (!above.add(node)) {
            addProblem(node.getStartMark(), path, "an alias that contains itself");
            return;
        }
        if (node instanceof SequenceNode sequence) {
            for (int i = 0; i < sequence.getValue().size(); i++) {
                indexEntry(sequence.getValue().get(i), sequence.getValue().get(i), path + '[' + i + ']', above);
            }
        } else if (node instanceof MappingNode mapping) {
            for (NodeTuple tuple : mapping.getValue()) {
                if (tuple.getKeyNode().getTag().equals(Tag.MERGE)) {
                    indexMerge(tuple.getValueNode(), path, above);
                } else {
                    indexEntry(tuple.getKeyNode(), tuple.getValueNode(), child(path, tuple.getKeyNode()), above);
                }
            }
        }
        above.remove(node);
    }

    private void indexEntry(Node key, Node value, String path, Set<Node> above) {
        lines.computeIfAbsent(path, any -> new ArrayList<>())
                .add(key.getStartMark().getLine() + 1);
        if (value instanceof ScalarNode scalar) {
            checkNumberBase(key, scalar, path);
        } else {
            index(value, path, above);
        }
    }

    private void indexMerge(Node value, String path, Set<Node> above) {
        if (value instanceof SequenceNode list) {
            list.getValue().forEach(one -> index(one, path, above));
        } else {
            index(value, path, above);
        }
    }

    private void checkNumberBase(Node key, ScalarNode scalar, String path) {
        if (!path.startsWith(WEIR_PREFIX)
                || scalar.getScalarStyle() != ScalarStyle.PLAIN
                || !scalar.getTag().equals(Tag.INT)) {
            return;
        }
        String number = scalar.getValue();
        boolean octal = OCTAL.matcher(number).matches();
        if (octal || SEXAGESIMAL.matcher(number).matches()) {
            problems.add(ConfigurationProblem.of(
                    SourceLocation.inFile(name, key.getStartMark().getLine() + 1),
                    path,
                    number,
                    "YAML reads this as a number in base " + (octal ? 8 : 60) + "; put it in quotes"));
        }
    }

    private static String child(String path, Node keyNode) {
        boolean plain = keyNode.getTag().equals(Tag.STR) || keyNode.getTag().equals(Tag.MERGE);
        String key = keyNode instanceof ScalarNode scalar ? scalar.getValue() : keyNode.toString();
        key = keyNode.getTag().equals(Tag.BOOL) ? String.valueOf(isTrue(key)) : key;
        String element = plain ? key : '[' + key + ']';
        return path.isEmpty() || element.startsWith("[") ? path + element : path + '.' + element;
    }
}
