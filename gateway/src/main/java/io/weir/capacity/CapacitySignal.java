package io.weir.capacity;

import io.netty.util.AsciiString;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/** The setting of a backend's capacity signal, and the count of the statements that were ignored. */
// Concurrency: one thread at a time changes the setting; any thread reads it and counts.
public final class CapacitySignal {

    private final Runnable onChange;
    /** By ordinal of {@link Ignored}. */
    private final AtomicLongArray ignored = new AtomicLongArray(Ignored.values().length);
    /** Null: the signal is off. */
    private volatile @Nullable AsciiString field;

    /** Why a statement is ignored. */
    public enum Ignored {
        /** It is neither a whole number from 0 to 1000000 nor a load report, or there are several. */
        NOT_A_NUMBER,
        /** The instance has stated 0 for too long. */
        ZERO,
        /** It differs from the one in force by a factor of 100 or more, or is a utilisation from 100 on. */
        JUMP,
        /** A line of an agent has a word that is not known. */
        AGENT_WORD,
        /** An agent gave no line. */
        AGENT_SILENT;

        /** Whether it is about an agent. */
        public boolean isOfAgent() {
            return this == AGENT_WORD || this == AGENT_SILENT;
        }

        /** The word in metrics, such as {@code not-a-number}. */
        public String word() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /**
     * A signal that is off.
     *
     * @param onChange runs on any thread after an instance has stated another capacity; must not block
     */
    public CapacitySignal(Runnable onChange) {
        this.onChange = onChange;
    }

    /** Changes the setting; null: the signal is off. What the instances have stated stays. */
    public void configure(@Nullable CapacitySignalProperties properties) {
        field = properties == null ? null : AsciiString.of(properties.header());
    }

    /** The field that states the capacity; null: the signal is off. */
    @Nullable
    AsciiString field() {
        return field;
    }

    void changed() {
        onChange.run();
    }

    @SuppressWarnings("EnumOrdinal") // An index into an array of this process.
    void ignore(Ignored reason) {
        ignored.incrementAndGet(reason.ordinal());
    }

    /** The statements that were ignored for this reason, since the backend was created. */
    @SuppressWarnings("EnumOrdinal") // An index into an array of this process.
    public long ignored(Ignored reason) {
        return ignored.get(reason.ordinal());
    }
}
