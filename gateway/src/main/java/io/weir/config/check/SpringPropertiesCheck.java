package io.weir.config.check;

import io.weir.config.check.RawTree.Setting;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.util.function.SingletonSupplier;

/**
 * Checks the names of Spring Boot's and Spring Cloud's properties, which the binder ignores if they are
 * misspelt. Spring Boot itself checks the values.
 *
 * <p>Below {@code server}, {@code management} and {@code logging} every name must be known. Below {@code
 * spring} an unknown name is reported only if it resembles a known one: parts of Spring read properties
 * without metadata, and an additional jar may read others.
 *
 * <p>It checks files and the command line. Environment variables and system properties may belong to other
 * programs.
 */
final class SpringPropertiesCheck {

    private static final String UNKNOWN = "unknown property";
    private static final String WEIR = "weir";
    private static final String SPRING = "spring";
    /** Parents of the names of endpoints and of health contributors, which need no metadata. */
    private static final Set<String> EXTENSIBLE = Set.of("management.endpoint", "management.health");

    /** Similar names: at most one edit from 5 letters on, two from 8 letters on. */
    private static final int SHORT_NAME = 5;

    private static final int LONG_NAME = 8;

    /** Read once: the class path does not change. */
    private static final Supplier<SpringPropertyNames> NAMES =
            SingletonSupplier.of(() -> SpringPropertyNames.read(SpringPropertiesCheck.class.getClassLoader()));

    private final Predicate<String> isReported;
    private final Consumer<ConfigurationProblem> problems;

    /**
     * Creates a check.
     *
     * @param isReported whether another check has already reported the property of this path
     */
    SpringPropertiesCheck(Predicate<String> isReported, Consumer<ConfigurationProblem> problems) {
        this.isReported = isReported;
        this.problems = problems;
    }

    void check(RawTree root) {
        root.children().filter(SpringPropertiesCheck::isChecked).forEach(this::checkRoot);
    }

    private void checkRoot(RawTree node) {
        String uniform = PropertyNames.uniform(node.name());
        SpringPropertyNames known = NAMES.get().child(uniform);
        if (known != null) {
            checkChildren(node, known, known.name(), known.name().equals(SPRING));
        } else if (!uniform.equals(WEIR) && !node.isBracketed()) {
            String nearest =
                    nearest(node.name(), List.of(WEIR, "server", "management", "logging", SPRING), WEIR.length());
            if (nearest != null) {
                report(node, UNKNOWN, nearest);
            }
        }
    }

    /**
     * Checks the names below an element.
     *
     * @param path the element's path, as the metadata spells it
     * @param isLenient whether unknown names are accepted unless they resemble a known one
     */
    private void checkChildren(RawTree node, SpringPropertyNames known, String path, boolean isLenient) {
        node.children().filter(SpringPropertiesCheck::isChecked).forEach(child -> {
            SpringPropertyNames next = child.isBracketed() ? null : known.child(child.name());
            if (next != null) {
                if (next.isRemoved() && child.settings().stream().anyMatch(SpringPropertiesCheck::isChecked)) {
                    report(child, "not read by this version", next.replacement());
                }
                checkChildren(child, next, path + '.' + next.name(), isLenient);
            } else if (!child.isBracketed() && !known.isOpen()) {
                reportUnknown(child, known, isLenient || EXTENSIBLE.contains(path));
            }
        });
    }

    private void reportUnknown(RawTree child, SpringPropertyNames parent, boolean isLenient) {
        String nearest = isLenient
                ? nearest(child.name(), parent.childNames(), SHORT_NAME)
                : PropertyNames.nearest(child.name(), parent.childNames());
        if (nearest != null || !isLenient) {
            report(child, UNKNOWN, nearest);
        }
    }

    private void report(RawTree node, String why, @Nullable String nearest) {
        if (!isReported.test(node.path())) {
            @Nullable
            String value = node.settings().stream()
                    .filter(SpringPropertiesCheck::isChecked)
                    .findFirst()
                    .map(Setting::text)
                    .orElse(null);
            problems.accept(new ConfigurationProblem(
                    node.location(SpringPropertiesCheck::isChecked), node.path(), value, why, nearest));
        }
    }

    /**
     * The known name that differs in so few letters that the given name must be a mistake; null if there is
     * none.
     */
    private static @Nullable String nearest(String name, Iterable<String> known, int minLength) {
        String uniform = PropertyNames.uniform(name);
        for (String other : known) {
            String uniformOther = PropertyNames.uniform(other);
            int length = Math.min(uniform.length(), uniformOther.length());
            int maxDistance = length >= LONG_NAME ? 2 : length >= minLength ? 1 : 0;
            if (maxDistance > 0 && PropertyNames.editDistance(uniform, uniformOther) <= maxDistance) {
                return other;
            }
        }
        return null;
    }

    private static boolean isChecked(RawTree node) {
        return node.allSettings().anyMatch(SpringPropertiesCheck::isChecked);
    }

    private static boolean isChecked(Setting setting) {
        return setting.location().isFile() || setting.location().source().equals(RawTreeReader.COMMAND_LINE);
    }
}
