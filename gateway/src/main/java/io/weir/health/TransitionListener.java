package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;

/** Receives the transitions of an instance. */
@FunctionalInterface
public interface TransitionListener {

    /**
     * The instance has changed its state. Called on event loops; must not block.
     *
     * @param why the evidence
     * @param isWithPeers whether all instances of the backend open at once
     */
    void changed(State from, State to, String why, boolean isWithPeers);
}
