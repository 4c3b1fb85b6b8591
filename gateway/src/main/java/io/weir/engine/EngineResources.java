package io.weir.engine;

import io.netty.util.internal.PlatformDependent;
import io.weir.faults.ActiveFaults;
import io.weir.probe.ProbeRequest;
import io.weir.slowcaller.ReadAheadBudget;
import io.weir.slowcaller.SlowCallers;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** What all exchanges of an engine use: the clock, randomness, limits, budgets, and the injected faults. */
final class EngineResources {

    /**
     * Unread answers may take half of the direct memory, before those that are read at a crawl end. With the
     * overhead of their buffers, that is below the share from which the gateway refuses requests: 72 % for
     * sheddable ones, by default.
     */
    private static final int UNREAD_DIVISOR = 2;

    private final LongSupplier nanoClock;
    private final DoubleSupplier random;
    private final Limits limits;
    private final ProbeRequest.Sender probes;
    private final ReadAheadBudget readAhead;
    private final SlowCallers slowCallers;

    /** The injected faults; null: none is active. */
    private volatile @Nullable ActiveFaults faults;

    EngineResources(LongSupplier nanoClock, DoubleSupplier random, Limits limits, ProbeRequest.Sender probes) {
        this.nanoClock = nanoClock;
        this.random = random;
        this.limits = limits;
        this.probes = probes;
        this.readAhead = new ReadAheadBudget(limits.readAheadTotalBytes());
        this.slowCallers =
                new SlowCallers(PlatformDependent.maxDirectMemory() / UNREAD_DIVISOR, limits.minBodyBytesPerSecond());
    }

    /** The clock of all deadlines. */
    LongSupplier nanoClock() {
        return nanoClock;
    }

    long nanoTime() {
        return nanoClock.getAsLong();
    }

    /** A value from 0 to 1. */
    double random() {
        return random.getAsDouble();
    }

    Limits limits() {
        return limits;
    }

    ProbeRequest.Sender probes() {
        return probes;
    }

    ReadAheadBudget readAhead() {
        return readAhead;
    }

    SlowCallers slowCallers() {
        return slowCallers;
    }

    /** The injected faults; null: none is active. */
    @Nullable
    ActiveFaults faults() {
        return faults;
    }

    /** Injects these faults from now on; null: none. From any thread. */
    void inject(@Nullable ActiveFaults active) {
        faults = active;
    }
}
