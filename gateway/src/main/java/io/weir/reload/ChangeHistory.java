package io.weir.reload;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The last applied changes of the configuration, and the last rejected one. Thread-safe. */
public final class ChangeHistory {

    /** The number of applied changes to keep. */
    public static final int CAPACITY = 10;

    private final Deque<ConfigurationChange> changes = new ArrayDeque<>();
    private @Nullable ConfigurationChange lastRejected;

    /** Records an applied or rejected change. */
    synchronized void add(ConfigurationChange change) {
        if (!change.isApplied()) {
            lastRejected = change;
            return;
        }
        if (changes.size() == CAPACITY) {
            changes.removeLast();
        }
        changes.addFirst(change);
    }

    /** Forgets the rejected change, because the content of the files is in force. */
    synchronized void clearRejected() {
        lastRejected = null;
    }

    /** The applied changes, the latest first. */
    public synchronized List<ConfigurationChange> changes() {
        return List.copyOf(changes);
    }

    /** The last rejected change; null if a later reload succeeded. */
    public synchronized @Nullable ConfigurationChange lastRejected() {
        return lastRejected;
    }
}
