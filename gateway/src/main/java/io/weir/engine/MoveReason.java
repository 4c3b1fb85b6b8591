package io.weir.engine;

import java.util.Locale;

/** Why a call has a place in the compartment of streams in place of a permit. */
public enum MoveReason {
    /** Its caller sends or reads slowly. */
    HELD_UP,
    /** The backend has answered calls that it got much later. */
    LEFT_BEHIND,
    /** No permit was free, and none of the calls that held them was answered, or a slow route held many. */
    SCOUT;

    /** The word in metrics, such as {@code held-up}. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
