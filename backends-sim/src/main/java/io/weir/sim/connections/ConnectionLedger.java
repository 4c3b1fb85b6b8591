package io.weir.sim.connections;

import java.util.HashMap;
import java.util.Map;

/**
 * Who holds connections and who waits for another: enough to see a deadlock at the moment in which it closes, and not
 * only when the first one times out.
 *
 * <p>There is a deadlock if every connection is held by somebody who waits for another one: nobody is left who could
 * give one back. Those who wait and hold nothing are its victims, and no part of it.
 *
 * <p>Concurrency: one monitor, held for a look at as many entries as the pool has connections.
 */
final class ConnectionLedger {

    private static final class Entry {
        private int held;
        private boolean waits;
        private boolean caught;
    }

    private final int poolSize;
    private final Map<Object, Entry> entries = new HashMap<>();
    private int held;
    private long deadlocks;
    private boolean deadlocked;

    ConnectionLedger(int poolSize) {
        this.poolSize = poolSize;
    }

    /** {@code request} begins to wait. Returns whether that closes a deadlock. */
    synchronized boolean waits(Object request) {
        entries.computeIfAbsent(request, _ -> new Entry()).waits = true;
        return look();
    }

    /** {@code request} got a connection. */
    synchronized void got(Object request) {
        Entry entry = entries.computeIfAbsent(request, _ -> new Entry());
        entry.waits = false;
        entry.held++;
        held++;
    }

    /** {@code request} waited for too long. Returns whether it was caught in a deadlock. */
    synchronized boolean gaveUp(Object request) {
        Entry entry = entries.computeIfAbsent(request, _ -> new Entry());
        boolean caught = entry.caught;
        entry.waits = false;
        entry.caught = false;
        forgetIfDone(request, entry);
        deadlocked = false;
        return caught;
    }

    /** {@code request} gave a connection back. */
    synchronized void gaveBack(Object request) {
        Entry entry = entries.get(request);
        if (entry == null || entry.held == 0) {
            throw new IllegalStateException("gave back what it did not hold");
        }
        entry.held--;
        held--;
        deadlocked = false;
        forgetIfDone(request, entry);
    }

    /** Deadlocks seen so far. */
    synchronized long deadlocks() {
        return deadlocks;
    }

    /** Whether there is one now. */
    synchronized boolean deadlocked() {
        return deadlocked;
    }

    private boolean look() {
        if (deadlocked || held < poolSize) {
            return false;
        }
        for (Entry entry : entries.values()) {
            if (entry.held > 0 && !entry.waits) {
                return false;
            }
        }
        deadlocked = true;
        deadlocks++;
        for (Entry entry : entries.values()) {
            entry.caught = entry.held > 0;
        }
        return true;
    }

    private void forgetIfDone(Object request, Entry entry) {
        if (entry.held == 0 && !entry.waits) {
            entries.remove(request);
        }
    }
}
