package io.weir.door;

import io.weir.outcome.Refusal;

/** Carries the gateway's own answer past Spring Cloud Gateway's filters to {@link RefusalHandler}. */
final class Refused extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final transient Refusal refusal;

    Refused(Refusal refusal) {
        super(refusal.reason().word(), null, false, false);
        this.refusal = refusal;
    }

    Refusal refusal() {
        return refusal;
    }
}
