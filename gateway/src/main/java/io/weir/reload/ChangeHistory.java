package io.weir.reload;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The last changes of the configuration, and the problems that keep the next one out. Thread-safe. */
public final class ChangeHistory {

    /** As many changes are remembered. */
    public static final int CAPACITY = 10;

    private final Deque<ConfigurationChange> changes = new ArrayDeque<>();
    private @Nullable ConfigurationChange refused;

    /** Takes note of a change, or of one that was refused. */
    synchronized void add(ConfigurationChange change) {
        if (!change.isApplied()) {
            refused = change;
            return;
        }
        if (changes.size() == CAPACITY) {
            changes.removeLast();
        }
        changes.addFirst(change);
    }

    /** The refused one is of no interest any more: what is written in the files is what holds. */
    synchronized void settled() {
        refused = null;
    }

    /** What was changed, the latest first. */
    public synchronized List<ConfigurationChange> changes() {
        return List.copyOf(changes);
    }

    /** The change that was refused last; null if one has been applied since. */
    public synchronized @Nullable ConfigurationChange refused() {
        return refused;
    }
}
