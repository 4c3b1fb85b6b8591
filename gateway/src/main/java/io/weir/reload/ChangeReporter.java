package io.weir.reload;

import io.weir.config.check.ConfigurationHash;
import io.weir.management.HeldChanges;
import io.weir.management.RecentEvents;
import io.weir.metrics.ReloadMeters;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes each applied or rejected change to the log, the history, the meters and the recent events.
 * Thread-safe.
 */
final class ChangeReporter {

    private static final Logger log = LoggerFactory.getLogger(LiveConfiguration.class);

    /** Lines of a change in the list of recent events. The log contains all lines. */
    private static final int MAX_EVENT_LINES = 3;

    private static final Pattern BACKEND_PATH = Pattern.compile("weir\\.backends\\.([^.]+)\\.");

    private final ReloadMeters meters;
    private final RecentEvents recentEvents;
    private final ChangeHistory history = new ChangeHistory();

    ChangeReporter(ReloadMeters meters, RecentEvents recentEvents) {
        this.meters = meters;
        this.recentEvents = recentEvents;
    }

    /** The last changes. */
    ChangeHistory history() {
        return history;
    }

    /** The content of the files is in force. */
    void settled() {
        history.clearRejected();
        meters.settled();
    }

    /**
     * Reports a change.
     *
     * @param end the words for the end of the change; empty: it has none
     * @param hash the hash of the configuration in force
     */
    void report(ConfigurationChange change, String end, ConfigurationHash hash) {
        history.add(change);
        if (change.isApplied()) {
            meters.applied(change.at());
            log.warn("Configuration changed by {} ({}){}; hash {}:", change.by(), change.trigger(), end, hash);
            change.differences().forEach(difference -> log.warn("  {}", difference));
            recentEvents.add(
                    change.trigger().isOfOperators()
                            ? RecentEvents.Kind.LIMIT_CHANGED
                            : RecentEvents.Kind.CONFIGURATION_RELOADED,
                    backend(change),
                    summary(change.differences()) + end,
                    change.by());
        } else {
            meters.refused();
            log.error("Reload from {} rejected; the current configuration stays in force:", change.by());
            change.problems().forEach(problem -> log.error("  {}", problem));
            recentEvents.add(RecentEvents.Kind.CONFIGURATION_REFUSED, null, summary(change.problems()), change.by());
        }
    }

    /**
     * Reports which changes by operators a reload has kept, and which ones have ended, and why.
     *
     * @param over those whose time is over
     * @param ended those that do not fit to the files
     * @param backends the backends in the files
     */
    void reloaded(HeldChanges kept, HeldChanges over, HeldChanges ended, Set<String> backends) {
        kept.lines().forEach(line -> log.warn("Change kept by the reload, in place of the files' value: {}", line));
        over.lines().forEach(line -> log.warn("Change ended after its time: {}", line));
        ended.withoutBackends(backends)
                .lines()
                .forEach(line -> log.warn("Change ended by the reload, as its backend is gone: {}", line));
        ended.ofBackends(backends)
                .lines()
                .forEach(line -> log.warn("Change ended by the reload, as it is invalid with the files: {}", line));
    }

    /**
     * Reports that an operator has set limits to the values that they have, only with another end.
     *
     * @param end the words for the end of the change; empty: it has none
     */
    void reportEnd(String backend, String by, String end) {
        log.warn("Limits of backend {} set by {} to the values that they have{}", backend, by, end);
        recentEvents.add(
                RecentEvents.Kind.LIMIT_CHANGED, backend, "The limits were set to the values that they have" + end, by);
    }

    /** The first lines, and the number of the others. */
    private static String summary(List<?> lines) {
        String rest = lines.size() > MAX_EVENT_LINES ? "; and " + (lines.size() - MAX_EVENT_LINES) + " more" : "";
        return lines.stream().limit(MAX_EVENT_LINES).map(Object::toString).collect(Collectors.joining("; ", "", rest));
    }

    /** The backend that all changed values belong to; null if there is no such backend. */
    private static @Nullable String backend(ConfigurationChange change) {
        List<String> names = change.differences().stream()
                .map(difference -> BACKEND_PATH.matcher(difference.path()))
                .map(path -> path.lookingAt() ? path.group(1) : "")
                .distinct()
                .toList();
        return names.size() == 1 && !names.get(0).isEmpty() ? names.get(0) : null;
    }
}
