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
    private static final Pattern LIVE = Pattern.compile(
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
    public record Changed(
            String path, @Nullable String before, @Nullable String after) {}

    private final List<Changed> values = new ArrayList<>();
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
                        new Changed(
                                path,
                                old == null ? null : from.shown(path, old),
                                now == null ? null : to.shown(path, now)),
                        now != null ? now.place() : placeOf(old));
            }
        }
    }

    /** Whether a running gateway follows a change of this property. */
    static boolean isFollowed(String path) {
        return LIVE.matcher(path).matches();
    }

    private static SourceLocation placeOf(@Nullable Setting old) {
        return old == null
                ? SourceLocation.elsewhere("configuration")
                : SourceLocation.inFile(old.place().source(), 0);
    }

    private void add(Changed changed, SourceLocation place) {
        values.add(changed);
        if (!isFollowed(changed.path())) {
            String after = changed.after();
            String until = changed.before() == null ? "not written" : changed.before();
            problems.add(ConfigurationProblem.of(
                    place,
                    changed.path(),
                    after == null ? "removed" : after,
                    "it takes a restart to change this; expected, as long as this gateway runs: " + until));
        }
    }

    /** The values that are different, by path. */
    public List<Changed> values() {
        return List.copyOf(values);
    }

    /** Those that a running gateway cannot follow. */
    public List<ConfigurationProblem> problems() {
        return List.copyOf(problems);
    }

    /** Whether Spring Cloud Gateway's routes and filters are other ones, for all that is known. */
    public boolean isOfRoutes() {
        return values.stream().anyMatch(value -> !value.path().startsWith("weir."));
    }

    /** Whether all is written as it was. */
    public boolean isEmpty() {
        return values.isEmpty();
    }
}
