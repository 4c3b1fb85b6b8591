package io.weir.config.check;

import io.weir.config.check.PropertySchema.GroupListSchema;
import io.weir.config.check.PropertySchema.GroupSchema;
import io.weir.config.check.PropertySchema.ListSchema;
import io.weir.config.check.PropertySchema.MapSchema;
import io.weir.config.check.PropertySchema.Property;
import io.weir.config.check.PropertySchema.ValueSchema;
import io.weir.config.check.RawTree.Setting;
import io.weir.config.check.ValidValues.Entry;
import io.weir.hedge.HedgeDelay;
import io.weir.limit.DurationOrAuto;
import jakarta.validation.Validator;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/**
 * Checks settings against a schema: unknown names, values that do not convert or are out of range, and
 * missing values. Collects the valid ones as {@link ValidValues}.
 */
final class PropertiesCheck {

    /** The default of a property, as text. */
    private record DefaultKey(Class<?> type, String text) {}

    /** A number other than 0. */
    private static final Pattern WITHOUT_UNIT = Pattern.compile("[+-]?0*[1-9][0-9]*");

    private static final String NEEDS_UNIT = "without a unit, such as ms or s; expected: ";

    private static final Map<DefaultKey, Object> DEFAULTS = new ConcurrentHashMap<>();

    private final Environment environment;
    private final EnvironmentVariables variables;
    private final Validator validator;
    private final Consumer<ConfigurationProblem> problems;
    private final ValidValues validValues = new ValidValues();

    PropertiesCheck(
            Environment environment,
            EnvironmentVariables variables,
            Validator validator,
            Consumer<ConfigurationProblem> problems) {
        this.environment = environment;
        this.variables = variables;
        this.validator = validator;
        this.problems = problems;
    }

    ValidValues validValues() {
        return validValues;
    }

    /**
     * Checks the properties of a group; {@code path} is canonical, {@code nodes} are all spellings of that
     * path.
     */
    void checkGroup(String path, GroupSchema group, List<RawTree> nodes, SourceLocation location) {
        for (RawTree node : nodes) {
            node.settings().stream()
                    .filter(setting -> !setting.text().isEmpty())
                    .forEach(setting ->
                            problems.accept(setting.expected("properties: " + String.join(", ", group.names()))));
            node.children().filter(child -> !isKnown(child, group)).forEach(child -> reportUnknown(child, group));
        }
        for (Property property : group.properties()) {
            checkProperty(path + '.' + property.name(), property, RawTree.find(nodes, property.name()), location);
        }
    }

    private static boolean isKnown(RawTree child, GroupSchema group) {
        return !child.isBracketed()
                && child.name().chars().allMatch(c -> Character.isLetterOrDigit(c) || c == '-' || c == '_')
                && group.names().stream()
                        .anyMatch(name -> PropertyNames.uniform(name).equals(PropertyNames.uniform(child.name())));
    }

    private void reportUnknown(RawTree child, GroupSchema group) {
        if (child.isEnvironmentOnly()) {
            // Kubernetes sets variables such as WEIR_PORT for a service named weir.
            return;
        }
        @Nullable String nearest = PropertyNames.nearest(child.name(), group.names());
        if (nearest == null) {
            nearest = group.paths()
                    .filter(path -> PropertyNames.uniform(path.substring(path.lastIndexOf('.') + 1))
                            .equals(PropertyNames.uniform(child.name())))
                    .findFirst()
                    .orElse(null);
        }
        @Nullable String value = child.value();
        String why = "unknown property";
        if (child.isIndex()) {
            why = "expected: properties, not a list";
        } else if (child.isBracketed()
                && (child.name().equals("true") || child.name().equals("false"))) {
            why = "YAML reads the key (on, off, yes, no) as " + child.name() + "; put it in quotes";
        }
        problems.accept(child.problem(value, why, nearest));
    }

    private void checkProperty(String path, Property property, List<RawTree> nodes, SourceLocation around) {
        SourceLocation location = nodes.isEmpty() ? around : nodes.getFirst().location();
        switch (property.schema()) {
            case GroupSchema group -> {
                // A group without default, such as retry or fallback, exists only if it is configured.
                if (!nodes.isEmpty() || property.defaults() != null) {
                    checkGroup(path, group, nodes, location);
                }
            }
            case MapSchema map -> checkMap(path, property, map, nodes);
            case ListSchema list -> checkList(path, property, list, nodes, location);
            case GroupListSchema list -> checkGroupList(path, list, nodes);
            case ValueSchema value -> checkValue(path, property, value, nodes, location);
        }
    }

    // ---------------------------------------------------------------- user-defined names

    private void checkMap(String path, Property property, MapSchema map, List<RawTree> nodes) {
        Map<String, List<RawTree>> byName = new LinkedHashMap<>();
        nodes.stream()
                .flatMap(node -> node.settings().stream())
                .filter(setting -> !setting.text().isEmpty())
                .forEach(setting -> problems.accept(setting.expected("names with properties of their own")));
        for (boolean variables : List.of(false, true)) {
            for (RawTree node : nodes) {
                // A node without children is its own leaf.
                Stream<RawTree> children = map.element() instanceof ValueSchema
                        ? node.leaves().filter(leaf -> leaf != node)
                        : node.children();
                children.filter(child -> child.isEnvironmentOnly() == variables).forEach(child -> {
                    String read = readName(node, child);
                    String name = variables ? EnvironmentVariables.meantName(read, byName.keySet()) : read;
                    byName.computeIfAbsent(name, any -> new ArrayList<>()).add(child);
                });
            }
        }
        Map<String, String> uniform = new LinkedHashMap<>();
        byName.forEach((name, nodesOfName) -> {
            SourceLocation location = nodesOfName.getFirst().location();
            String other = uniform.putIfAbsent(PropertyNames.uniform(name), name);
            if (other != null && nodesOfName.stream().noneMatch(RawTree::isBracketed)) {
                problems.accept(ConfigurationProblem.of(
                        location,
                        nodesOfName.getFirst().path(),
                        null,
                        "Spring Boot reads it as the same name as " + other));
            }
            validValues.addName(path, name, location);
            String child = path + '.' + name;
            switch (map.element()) {
                case GroupSchema group -> checkGroup(child, group, nodesOfName, location);
                case ValueSchema value -> checkValue(child, property, value, nodesOfName, location);
                default -> throw new IllegalStateException("a map of " + map.element());
            }
        });
    }

    private void checkGroupList(String path, GroupListSchema list, List<RawTree> nodes) {
        GroupListCheck.elements(list, nodes, problems).forEach((index, element) -> {
            SourceLocation location = element.getFirst().location();
            validValues.addName(path, String.valueOf(index), location);
            checkGroup(path + '[' + index + ']', list.element(), element, location);
        });
    }

    /** The user-defined name as Spring Boot reads it. */
    private String readName(RawTree parent, RawTree child) {
        if (child.isBracketed()) {
            return child.name();
        }
        String name = child.path().substring(parent.path().length() + 1);
        String read = PropertyNames.withoutIgnoredCharacters(name);
        if (!read.equals(name)) {
            problems.accept(child.problem("Spring Boot reads the name as " + read + "; write \"[" + name + "]\""));
        }
        return name;
    }

    // ---------------------------------------------------------------- values

    private void checkList(
            String path, Property property, ListSchema list, List<RawTree> nodes, SourceLocation location) {
        Optional<Setting> single = effective(path, nodes);
        List<RawTree> elements = nodes.stream().flatMap(RawTree::children).toList();
        elements.stream()
                .filter(element ->
                        !element.isIndex() || element.children().findAny().isPresent())
                .filter(element -> !element.isEnvironmentOnly())
                .forEach(element -> problems.accept(element.expected(
                        "a list of values, each " + list.element().expected().typeAndRange())));
        int first = elements.stream()
                .flatMap(element -> element.settings().stream())
                .mapToInt(Setting::precedence)
                .min()
                .orElse(Integer.MAX_VALUE);
        List<Object> values = new ArrayList<>();
        boolean allValid = true;
        if (single.isPresent() && single.get().precedence() < first) {
            for (String part :
                    StringUtils.commaDelimitedListToStringArray(single.get().text())) {
                allValid &= checkElement(property, list, single.get(), part.strip(), values);
            }
        } else if (first < Integer.MAX_VALUE) {
            for (RawTree element : elements) {
                for (Setting setting : element.settings()) {
                    if (setting.precedence() == first) {
                        allValid &= checkElement(property, list, setting, setting.text(), values);
                    }
                }
            }
        } else {
            for (String part : property.defaults() == null ? List.<String>of() : property.defaults()) {
                values.add(convertDefault(list.element(), part));
            }
            validValues.put(path, new Entry(values, location, path, null));
            return;
        }
        if (allValid) {
            validValues.put(path, new Entry(values, location, nodes.getFirst().path(), values.toString()));
        }
    }

    private boolean checkElement(
            Property property, ListSchema list, Setting setting, String text, List<Object> values) {
        Optional<Object> value = convertOrReport(list.element(), setting, text, false);
        value.filter(one -> isAllowed(
                        property, list.isUnique() ? Set.of(one) : List.of(one), list.element(), setting, text))
                .ifPresent(values::add);
        return value.isPresent();
    }

    /** Checks the value of a property, or one of the values of a map. */
    private void checkValue(
            String path, Property property, ValueSchema value, List<RawTree> nodes, SourceLocation location) {
        boolean isOfMap = property.schema() instanceof MapSchema;
        reportChildren(nodes, value);
        reportDuplicates(nodes);
        Setting setting = effective(path, nodes).orElse(null);
        if (setting != null) {
            // Text may be empty if it has a default, or a user-defined name such as that of a header.
            boolean text = value.type() == String.class && (isOfMap || property.defaults() != null);
            convertOrReport(value, setting, setting.text(), text)
                    .filter(converted -> isAllowed(
                            property, isOfMap ? Map.of(path, converted) : converted, value, setting, setting.text()))
                    .ifPresent(converted -> validValues.put(
                            path, new Entry(converted, setting.location(), setting.path(), setting.text())));
        } else if (property.isRequired()) {
            problems.accept(ConfigurationProblem.of(
                    location,
                    path,
                    null,
                    "missing; expected: " + value.expected().typeAndRange()));
        } else if (!isOfMap && property.defaults() != null) {
            validValues.put(
                    path,
                    new Entry(convertDefault(value, String.join(",", property.defaults())), location, path, null));
        }
    }

    /** Reports properties below a single value. Spring Boot would ignore them and use the default. */
    private void reportChildren(List<RawTree> nodes, ValueSchema value) {
        nodes.stream()
                .flatMap(RawTree::children)
                .filter(child -> !child.isEnvironmentOnly())
                .limit(1)
                .forEach(child -> problems.accept(child.expected(
                        child.value(), "a single value, " + value.expected().typeAndRange())));
    }

    /** Reports two spellings of one property in one file, because their precedence would be arbitrary. */
    private void reportDuplicates(List<RawTree> nodes) {
        Map<Integer, Setting> first = new HashMap<>();
        for (RawTree node : nodes) {
            for (Setting setting : node.settings()) {
                Setting other = first.putIfAbsent(setting.precedence(), setting);
                if (other != null && !other.path().equals(setting.path())) {
                    problems.accept(setting.problem("duplicate of " + other.path() + " in " + other.location()));
                }
            }
        }
    }

    private Optional<Setting> effective(String path, List<RawTree> nodes) {
        return Stream.concat(RawTree.effective(nodes).stream(), variables.find(path).stream())
                .min(Comparator.comparingInt(Setting::precedence));
    }

    /**
     * The converted value with placeholders resolved. Reports a value that does not convert, and returns
     * empty.
     */
    private Optional<Object> convertOrReport(ValueSchema value, Setting setting, String text, boolean mayBeEmpty) {
        String resolved = text;
        try {
            resolved = environment.resolveRequiredPlaceholders(text);
        } catch (IllegalArgumentException e) {
            problems.accept(ConfigurationProblem.unresolved(setting, text, e));
            return Optional.empty();
        }
        boolean empty = resolved.isBlank() && !mayBeEmpty;
        if (!empty) {
            try {
                return Optional.of(convert(value, resolved));
            } catch (BindException | IllegalArgumentException e) {
                // Reported below.
            }
        }
        List<String> words = value.expected().choices();
        problems.accept(setting.problem(
                empty ? null : displayText(text, resolved),
                (empty ? "empty; expected: " : isDurationWithoutUnit(value, resolved) ? NEEDS_UNIT : "expected: ")
                        + value.expected().typeAndRange(),
                empty ? null : PropertyNames.nearest(resolved, words)));
        return Optional.empty();
    }

    private boolean isAllowed(Property property, Object value, ValueSchema schema, Setting setting, String text) {
        if (validator
                .validateValue(property.owner(), property.component(), value)
                .isEmpty()) {
            return true;
        }
        problems.accept(setting.expected(
                displayText(text, environment.resolvePlaceholders(text)),
                schema.expected().rangeOrType()));
        return false;
    }

    private static String displayText(String text, String resolved) {
        return text.equals(resolved) || SecretMasking.hasSecretPlaceholder(text) ? text : text + " = " + resolved;
    }

    private static boolean isDurationWithoutUnit(ValueSchema value, String text) {
        return Set.of(Duration.class, DurationOrAuto.class, HedgeDelay.class).contains(value.type())
                && WITHOUT_UNIT.matcher(text.strip()).matches();
    }

    /** Converts a default; cached, because defaults never change. */
    private static Object convertDefault(ValueSchema value, String text) {
        return DEFAULTS.computeIfAbsent(new DefaultKey(value.type(), text), any -> convert(value, text));
    }

    /**
     * Converts as Spring Boot does, but without its leniency: Spring Boot would convert 64.7 to 64, escape
     * invalid characters of a URI, and take a duration without a unit for milliseconds.
     */
    static Object convert(ValueSchema value, String text) {
        if (value.type() == String.class) {
            return text;
        }
        if (value.type() == URI.class) {
            return URI.create(text.strip());
        }
        if (isDurationWithoutUnit(value, text)) {
            throw new IllegalArgumentException("value: " + text + " (expected: a duration with a unit)");
        }
        return new Binder(new MapConfigurationPropertySource(Map.of("value", text)))
                .bind("value", Bindable.of(value.type()))
                .get();
    }
}
