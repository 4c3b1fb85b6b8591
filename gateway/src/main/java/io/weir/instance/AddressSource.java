package io.weir.instance;

import java.time.Duration;
import java.util.List;

/** The source of the addresses of a backend's instances: a list, DNS, or a discovery. Thread-safe. */
public interface AddressSource extends AutoCloseable {

    /** The present addresses: one or more, in a fixed order. */
    List<InstanceAddress> addresses();

    /**
     * Waits until the first answer has arrived, or has failed. Blocks the calling thread.
     *
     * @param longest the longest wait
     * @return whether the source has addresses
     */
    boolean awaitFirst(Duration longest);

    /** Sets the action to run after each change of the addresses, in place of an earlier one. */
    void onChange(Runnable action);

    /** Runs the action again after the next answer, since it could not apply the present addresses. */
    void repeatChange();

    /** Looks the addresses up now, in addition to the regular look-ups. */
    void refresh();

    /** Changes the time between a look-up's answer and the next look-up; the known addresses stay. */
    void lookUpEvery(Duration interval);

    /** The time since the first of the look-ups that have failed in a row; 0: the last one succeeded. */
    long staleNanos();

    /** Ends the look-ups; the addresses stay. */
    @Override
    void close();

    /** A source whose addresses never change. */
    static AddressSource of(List<InstanceAddress> addresses) {
        List<InstanceAddress> fixed = List.copyOf(addresses);
        return new AddressSource() {

            @Override
            public List<InstanceAddress> addresses() {
                return fixed;
            }

            @Override
            public boolean awaitFirst(Duration longest) {
                return true;
            }

            @Override
            public void onChange(Runnable action) {}

            @Override
            public void repeatChange() {}

            @Override
            public void refresh() {}

            @Override
            public void lookUpEvery(Duration interval) {}

            @Override
            public long staleNanos() {
                return 0;
            }

            @Override
            public void close() {}
        };
    }
}
