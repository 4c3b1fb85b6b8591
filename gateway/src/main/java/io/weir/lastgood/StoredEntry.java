package io.weir.lastgood;

import java.util.List;

/** What the store keeps under a key. */
sealed interface StoredEntry permits StoredAnswer, StoredEntry.VaryNames {

    /** The approximate size of the entry in memory. */
    int bytes();

    /** When it came, on the clock of the store. */
    long receivedAtNanos();

    /** Time after its arrival for which the entry is of use. */
    long usableNanos();

    /**
     * The answers to this request have {@code Vary}: their keys contain the values of these fields.
     *
     * @param names in lower case, sorted
     */
    record VaryNames(List<String> names, long receivedAtNanos, long usableNanos) implements StoredEntry {

        private static final int BYTES_PER_NAME = 64;

        @Override
        public int bytes() {
            return BYTES_PER_NAME * (1 + names.size());
        }
    }
}
