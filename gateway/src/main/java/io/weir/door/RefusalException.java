package io.weir.door;

import io.weir.outcome.Refusal;

/** Carries the gateway's refusal past Spring Cloud Gateway's filters to {@link RefusalHandler}. */
final class RefusalException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final transient Refusal refusal;

    RefusalException(Refusal refusal) {
        super(refusal.reason().word(), null, false, false);
        this.refusal = refusal;
    }

    Refusal refusal() {
        return refusal;
    }
}
