package io.weir.config.check;

import io.weir.config.check.RawTree.Setting;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The changed values between two configurations, and the changes that a running gateway cannot apply. */
public final class ConfigurationDifference {

    /**
     * The properties that a running gateway can change: backends, routes, error pages, properties that only
     * the check uses, and those that nothing uses. All other properties were built into servers, meters and
     * threads at startup.
     */
    private static final Pattern RELOADABLE = Pattern.compile(
            "x-.*|weir\\.(backends|routes|authentication|errors)\\b.*|weir\\.allow-?unprotected-?routes"
                    + "|spring\\.cloud\\.gateway\\.server\\.webflux\\.(routes|default-?filters)\\b.*",
            Pattern.CASE_INSENSITIVE);

    /**
     * A changed value; secrets are masked.
     *
     * @param path the property
     * @param before the old value; null if the property was not set
     * @param after the new value; null if the property is no longer set
     */
    public record ChangedValue(
            String path, @Nullable String before, @Nullable String after) {

        /** {@code weir.backends.orders.deadline: 800ms -> 1s}. */
        @Override
        public String toString() {
            return ConfigurationProblem.escaped(path + ": " + orDefault(before) + " -> " + orDefault(after));
        }

        private static String orDefault(@Nullable String value) {
            return value == null ? "(default)" : value;
        }
    }

    private final List<ChangedValue> changedValues = new ArrayList<>();
    private final List<ConfigurationProblem> problems = new ArrayList<>();

    /** The difference between two configurations. */
    public ConfigurationDifference(ConfigurationSnapshot from, ConfigurationSnapshot to) {
        if (from.hasSourcesOf(to)) {
            return;
        }
        Map<String, Setting> before = from.changeable();
        Map<String, Setting> after = to.changeable();
        TreeSet<String> paths = new TreeSet<>(before.keySet());
        paths.addAll(after.keySet());
        for (String path : paths) {
            Setting old = before.get(path);
            Setting now = after.get(path);
            String was = old == null ? null : from.text(old);
            String is = now == null ? null : to.text(now);
            if (was == null ? is != null : !was.equals(is)) {
                add(
                        new ChangedValue(
                                path,
                                old == null ? null : from.displayText(path, old),
                                now == null ? null : to.displayText(path, now)),
                        now != null ? now.location() : fileOf(old));
            }
        }
    }

    /** Whether a running gateway can apply a change of this property. */
    private static boolean isReloadable(String path) {
        return RELOADABLE.matcher(path).matches();
    }

    private static SourceLocation fileOf(@Nullable Setting old) {
        return old == null
                ? SourceLocation.outsideFiles("configuration")
                : SourceLocation.inFile(old.location().source(), 0);
    }

    private void add(ChangedValue changed, SourceLocation location) {
        changedValues.add(changed);
        if (!isReloadable(changed.path())) {
            String after = changed.after();
            String current = changed.before() == null ? "not set" : changed.before();
            problems.add(ConfigurationProblem.of(
                    location,
                    changed.path(),
                    after == null ? "removed" : after,
                    "a change needs a restart; expected until then: " + current));
        }
    }

    /** The changed values, sorted by path. */
    public List<ChangedValue> changedValues() {
        return List.copyOf(changedValues);
    }

    /** The changes that need a restart. */
    public List<ConfigurationProblem> problems() {
        return List.copyOf(problems);
    }

    /** Whether Spring Cloud Gateway's routes or filters may have changed. */
    public boolean affectsGatewayRoutes() {
        return changedValues.stream().anyMatch(value -> !value.path().startsWith("weir."));
    }

    /** Whether nothing changed. */
    public boolean isEmpty() {
        return changedValues.isEmpty();
    }
}
