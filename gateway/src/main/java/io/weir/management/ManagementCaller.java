package io.weir.management;

import reactor.util.context.ContextView;

/** Who asks something of the management port. */
public final class ManagementCaller {

    private ManagementCaller() {}

    /** The address that the request came from. */
    public static String of(ContextView context) {
        return context.hasKey(ManagementGuard.CALLER) ? context.get(ManagementGuard.CALLER) : "an unknown caller";
    }
}
