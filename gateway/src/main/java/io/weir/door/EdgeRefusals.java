package io.weir.door;

import io.weir.observe.RequestFacts;
import io.weir.outcome.Refusal;

/** Told of refusals that happen before there is an exchange. Must not block. */
@FunctionalInterface
public interface EdgeRefusals {

    /** A request was refused. */
    void refused(Refusal refusal, RequestFacts facts);
}
