package io.weir.overload;

/** The processor time of this process outside of its event loops. */
@FunctionalInterface
interface ProcessorUse {

    /** The time until now; it only grows, except for what two readings at slightly different times make. */
    long outsideNanos();
}
