package io.weir.config.check;

import io.weir.config.check.RawTree.Setting;
import io.weir.config.check.PropertySchema.GroupSchema;
import io.weir.config.check.PropertySchema.MapSchema;
import io.weir.config.check.PropertySchema.Property;
import io.weir.config.check.PropertySchema.ListSchema;
import io.weir.config.check.PropertySchema.ValueSchema;
import io.weir.config.check.ValidValues.Entry;
import jakarta.validation.Validator;
import java.net.URI;
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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/**
 * Checks what is written against a schema: names that it does not have, values that do not convert or are out of range,
 * and values that are missing. What it finds sound it makes {@link ValidValues}.
 */
final class PropertiesCheck {

    /** A default as it is written in the records. */
    private record Default(Class<?> type, String text) {}

    private static final Map<Default, Object> DEFAULTS = new ConcurrentHashMap<>();

    private final Environment environment;
    private final EnvironmentVariables variables;
    private final Validator validator;
    private final Consumer<ConfigurationProblem> problems;
    private final ValidValues known = new ValidValues();

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

    ValidValues known() {
        return known;
    }

    /** Checks the properties of a group; {@code path} is canonical, {@code nodes} are all that is written under that name. */
    void group(String path, GroupSchema group, List<RawTree> nodes, SourceLocation place) {
        for (RawTree node : nodes) {
            node.settings().stream()
                    .filter(setting -> !setting.text().isEmpty())
                    .forEach(setting -> problems.accept(ConfigurationProblem.expected(
                            setting.place(),
                            setting.path(),
                            setting.text(),
                            "properties: " + String.join(", ", group.names()))));
            node.children().filter(child -> !isKnown(child, group)).forEach(child -> unknown(child, group));
        }
        for (Property property : group.properties()) {
            property(path + '.' + property.name(), property, RawTree.find(nodes, property.name()), place);
        }
    }

    private static boolean isKnown(RawTree child, GroupSchema group) {
        return !child.isBracketed()
                && child.name().chars().allMatch(c -> Character.isLetterOrDigit(c) || c == '-' || c == '_')
                && group.names().stream().anyMatch(name -> PropertyNames.uniform(name).equals(PropertyNames.uniform(child.name())));
    }

    private void unknown(RawTree child, GroupSchema group) {
        if (child.isEnvironmentOnly()) {
            // Kubernetes puts WEIR_PORT and the like there for a service that is called weir.
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
        @Nullable
        String value = RawTree.effective(List.of(child)).map(Setting::text).orElse(null);
        String why = "unknown property";
        if (child.isIndex()) {
            why = "expected: properties, not a list";
        } else if (child.isBracketed()
                && (child.name().equals("true") || child.name().equals("false"))) {
            why = "YAML reads the key (on, off, yes, no) as " + child.name() + "; put it in quotes";
        }
        problems.accept(new ConfigurationProblem(child.place(), child.path(), value, why, nearest));
    }

    private void property(String path, Property property, List<RawTree> nodes, SourceLocation around) {
        SourceLocation place = nodes.isEmpty() ? around : nodes.getFirst().place();
        switch (property.schema()) {
            case GroupSchema group -> {
                // What has no default is there only if it is written: a retry, a fallback.
                if (!nodes.isEmpty() || property.defaults() != null) {
                    group(path, group, nodes, place);
                }
            }
            case MapSchema named -> named(path, named, nodes);
            case ListSchema several -> several(path, property, several, nodes, place);
            case ValueSchema value -> value(path, property, value, nodes, place);
        }
    }

    // ---------------------------------------------------------------- names that the user chooses

    private void named(String path, MapSchema named, List<RawTree> nodes) {
        Map<String, List<RawTree>> byName = new LinkedHashMap<>();
        for (RawTree node : nodes) {
            node.settings().stream()
                    .filter(setting -> !setting.text().isEmpty())
                    .forEach(setting -> problems.accept(ConfigurationProblem.expected(
                            setting.place(), setting.path(), setting.text(), "names with properties of their own")));
            // The node is its own leaf if nothing is below it.
            Stream<RawTree> children =
                    named.element() instanceof ValueSchema ? node.leaves().filter(leaf -> leaf != node) : node.children();
            children.forEach(child -> byName.computeIfAbsent(key(node, child), any -> new ArrayList<>())
                    .add(child));
        }
        Map<String, String> uniform = new LinkedHashMap<>();
        byName.forEach((name, written) -> {
            SourceLocation place = written.getFirst().place();
            String other = uniform.putIfAbsent(PropertyNames.uniform(name), name);
            if (other != null && written.stream().noneMatch(RawTree::isBracketed)) {
                problems.accept(ConfigurationProblem.of(
                        place, written.getFirst().path(), null, "Spring Boot takes it for the same name as " + other));
            }
            known.name(path, name, place);
            String child = path + '.' + name;
            switch (named.element()) {
                case GroupSchema group -> group(child, group, written, place);
                case ValueSchema value -> value(child, null, value, written, place);
                default -> throw new IllegalStateException("a map of " + named.element());
            }
        });
    }

    /** The name as Spring Boot has it. */
    private String key(RawTree parent, RawTree child) {
        if (child.isBracketed()) {
            return child.name();
        }
        String name = child.path().substring(parent.path().length() + 1);
        String read = PropertyNames.read(name);
        if (!read.equals(name)) {
            problems.accept(ConfigurationProblem.of(
                    child.place(),
                    child.path(),
                    null,
                    "Spring Boot reads the name as " + read + "; write \"[" + name + "]\""));
        }
        return name;
    }

    // ---------------------------------------------------------------- values

    private void several(String path, Property property, ListSchema several, List<RawTree> nodes, SourceLocation place) {
        Optional<Setting> single = winner(path, nodes);
        List<RawTree> elements = nodes.stream().flatMap(RawTree::children).toList();
        elements.stream()
                .filter(element ->
                        !element.isIndex() || element.children().findAny().isPresent())
                .filter(element -> !element.isEnvironmentOnly())
                .forEach(element -> problems.accept(ConfigurationProblem.expected(
                        element.place(),
                        element.path(),
                        null,
                        "a list of values, each "
                                + several.element().expectation().inFull())));
        int first = elements.stream()
                .flatMap(element -> element.settings().stream())
                .mapToInt(Setting::order)
                .min()
                .orElse(Integer.MAX_VALUE);
        List<Object> values = new ArrayList<>();
        boolean sound = true;
        if (single.isPresent() && single.get().order() < first) {
            for (String part :
                    StringUtils.commaDelimitedListToStringArray(single.get().text())) {
                sound &= element(property, several, single.get(), part.strip(), values);
            }
        } else if (first < Integer.MAX_VALUE) {
            for (RawTree element : elements) {
                for (Setting setting : element.settings()) {
                    if (setting.order() == first) {
                        sound &= element(property, several, setting, setting.text(), values);
                    }
                }
            }
        } else {
            for (String part : property.defaults() == null ? List.<String>of() : property.defaults()) {
                values.add(byDefault(several.element(), part));
            }
            known.put(path, new Entry(values, place, path, null));
            return;
        }
        if (sound) {
            known.put(path, new Entry(values, place, nodes.getFirst().path(), values.toString()));
        }
    }

    private boolean element(Property property, ListSchema several, Setting setting, String text, List<Object> values) {
        Optional<Object> value = read(several.element(), setting, text, false);
        value.filter(one -> isAllowed(
                        property, several.isUnique() ? Set.of(one) : List.of(one), several.element(), setting, text))
                .ifPresent(values::add);
        return value.isPresent();
    }

    private void value(String path, @Nullable Property property, ValueSchema value, List<RawTree> nodes, SourceLocation place) {
        notBelow(nodes, value);
        twice(nodes);
        Setting setting = winner(path, nodes).orElse(null);
        if (setting != null) {
            // A text may be empty where that is its default, or where the user chooses the name, as for a header.
            boolean text = value.type() == String.class && (property == null || property.defaults() != null);
            read(value, setting, setting.text(), text)
                    .filter(read -> property == null || isAllowed(property, read, value, setting, setting.text()))
                    .ifPresent(
                            read -> known.put(path, new Entry(read, setting.place(), setting.path(), setting.text())));
        } else if (property != null && property.isRequired()) {
            problems.accept(ConfigurationProblem.of(
                    place,
                    path,
                    null,
                    "missing; expected: " + value.expectation().inFull()));
        } else if (property != null && property.defaults() != null) {
            known.put(path, new Entry(byDefault(value, String.join(",", property.defaults())), place, path, null));
        }
    }

    /** Nothing can stand below a value; Spring Boot would leave it, and take the default. */
    private void notBelow(List<RawTree> nodes, ValueSchema value) {
        nodes.stream()
                .flatMap(RawTree::children)
                .filter(child -> !child.isEnvironmentOnly())
                .limit(1)
                .forEach(child -> problems.accept(ConfigurationProblem.expected(
                        child.place(),
                        child.path(),
                        RawTree.effective(List.of(child)).map(Setting::text).orElse(null),
                        "a single value, " + value.expectation().inFull())));
    }

    /** The same property in two spellings in one file; which one wins would be chance. */
    private void twice(List<RawTree> nodes) {
        Map<Integer, Setting> first = new HashMap<>();
        for (RawTree node : nodes) {
            for (Setting setting : node.settings()) {
                Setting other = first.putIfAbsent(setting.order(), setting);
                if (other != null && !other.path().equals(setting.path())) {
                    problems.accept(ConfigurationProblem.of(
                            setting.place(),
                            setting.path(),
                            setting.text(),
                            "written twice, also as " + other.path() + " in " + other.place()));
                }
            }
        }
    }

    private Optional<Setting> winner(String path, List<RawTree> nodes) {
        return Stream.concat(RawTree.effective(nodes).stream(), variables.find(path).stream())
                .min(Comparator.comparingInt(Setting::order));
    }

    /** The value, with placeholders resolved and converted; empty if that is not possible, which is reported. */
    private Optional<Object> read(ValueSchema value, Setting setting, String text, boolean mayBeEmpty) {
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
                // Said below.
            }
        }
        List<String> words = value.expectation().words();
        problems.accept(new ConfigurationProblem(
                setting.place(),
                setting.path(),
                empty ? null : shown(text, resolved),
                (empty ? "empty; expected: " : "expected: ")
                        + value.expectation().inFull(),
                empty ? null : PropertyNames.nearest(resolved, words)));
        return Optional.empty();
    }

    private boolean isAllowed(Property property, Object value, ValueSchema schema, Setting setting, String text) {
        if (validator
                .validateValue(property.owner(), property.component(), value)
                .isEmpty()) {
            return true;
        }
        problems.accept(ConfigurationProblem.expected(
                setting.place(),
                setting.path(),
                shown(text, environment.resolvePlaceholders(text)),
                schema.expectation().shortly()));
        return false;
    }

    private static String shown(String text, String resolved) {
        return text.equals(resolved) || SecretMasking.namesASecret(text) ? text : text + " = " + resolved;
    }

    /** A default, which is the same each time. */
    private static Object byDefault(ValueSchema value, String text) {
        return DEFAULTS.computeIfAbsent(new Default(value.type(), text), any -> convert(value, text));
    }

    /** As Spring Boot converts, but that it would make 64 of 64.7, and escape what is no URI. */
    static Object convert(ValueSchema value, String text) {
        if (value.type() == String.class) {
            return text;
        }
        if (value.type() == URI.class) {
            return URI.create(text.strip());
        }
        return new Binder(new MapConfigurationPropertySource(Map.of("value", text)))
                .bind("value", Bindable.of(value.type()))
                .get();
    }
}
