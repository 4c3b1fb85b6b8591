package io.weir.management;

import reactor.util.context.ContextView;

/** The caller of the management port. */
public final class ManagementCaller {

    /**
     * The request field of a gateway that passes an operator's request on; its value names that gateway. It
     * gives no rights, and stops the request from being passed on again.
     */
    public static final String PASSED_ON_BY = "weir-passed-on-by";

    private ManagementCaller() {}

    /**
     * The name of the token's holder, if there is one, with the address and port, and whether the caller is
     * another gateway.
     */
    public static String of(ContextView context) {
        return context.hasKey(ManagementGuard.CALLER) ? context.get(ManagementGuard.CALLER) : "an unknown caller";
    }
}
