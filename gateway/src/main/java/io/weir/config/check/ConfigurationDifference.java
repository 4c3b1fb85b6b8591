package io.weir.config.check;

import io.weir.config.check.RawTree.Setting;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What is not written as it was: which values, and whether a running gateway can follow. */
public final class ConfigurationDifference {

    /**
     * What a running gateway follows: backends, routes, and what is checked only. All else was built into servers, meters and
     * threads when it started.
     */
    private static final Pattern RELOADABLE = Pattern.compile(
            "weir\\.(backends|routes)\\b.*|weir\\.allow-?unprotected-?routes"
                    + "|spring\\.cloud\\.gateway\\.server\\.webflux\\.(routes|default-?filters)\\b.*",
            Pattern.CASE_INSENSITIVE);

    /**
     * A value that is not what it was; secrets are masked.
     *
     * @param path the property
     * @param before what it was; null: it was not written
     * @param after what it is; null: it is not written any more
     */
    public record ChangedValue(
            String path, @Nullable String before, @Nullable String after) {}

    private final List<ChangedValue> changedValues = new ArrayList<>();
    private final List<ConfigurationProblem> problems = new ArrayList<>();

    /** The difference from one configuration to the next. */
    public ConfigurationDifference(ConfigurationSnapshot from, ConfigurationSnapshot to) {
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

    /** Whether a running gateway follows a change of this property. */
    static boolean isReloadable(String path) {
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
            String current = changed.before() == null ? "not written" : changed.before();
            problems.add(ConfigurationProblem.of(
                    location,
                    changed.path(),
                    after == null ? "removed" : after,
                    "it takes a restart to change this; expected, as long as this gateway runs: " + current));
        }
    }

    /** The values that are different, by path. */
    public List<ChangedValue> changedValues() {
        return List.copyOf(changedValues);
    }

    /** Those that a running gateway cannot follow. */
    public List<ConfigurationProblem> problems() {
        return List.copyOf(problems);
    }

    /** Whether Spring Cloud Gateway's routes and filters are other ones, for all that is known. */
    public boolean affectsGatewayRoutes() {
        return changedValues.stream().anyMatch(value -> !value.path().startsWith("weir."));
    }

    /** Whether all is written as it was. */
    public boolean isEmpty() {
        return changedValues.isEmpty();
    }
}
