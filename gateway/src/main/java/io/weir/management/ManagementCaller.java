package io.weir.management;

import reactor.util.context.ContextView;

/** The caller of the management port. */
public final class ManagementCaller {

    private ManagementCaller() {}

    /** The name of the token's holder, if there is one, with the address and port. */
    public static String of(ContextView context) {
        return context.hasKey(ManagementGuard.CALLER) ? context.get(ManagementGuard.CALLER) : "an unknown caller";
    }
}
