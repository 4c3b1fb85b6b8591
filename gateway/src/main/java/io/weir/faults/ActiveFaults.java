package io.weir.faults;

import io.netty.handler.codec.http.HttpHeaders;
import java.util.List;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/** The faults that are active, at least one. Immutable; read on event loops. */
public final class ActiveFaults {

    private static final double PERCENT = 100;

    private final List<InjectedFault> faults;
    private final DoubleSupplier random;

    /**
     * The active faults.
     *
     * @param faults in the order in which they started
     * @param random 0 (inclusive) to 1 (exclusive); draws the share of the calls
     */
    public ActiveFaults(List<InjectedFault> faults, DoubleSupplier random) {
        this.faults = List.copyOf(faults);
        this.random = random;
    }

    /**
     * The fault of a call: of the faults that match, the oldest one whose share the call falls into; null:
     * none. The fault counts the call.
     *
     * @param route the route whose backend gets the call; null: the call is the gateway's own, or goes to a
     *     fallback's backend
     * @param backend the backend's name
     * @param instance scheme and authority of the instance
     * @param head the head of the caller's request; of the gateway's own request, that request's
     * @param isHeadOnly whether only the head of the answer matters; then {@code truncate} does not act on it
     */
    public @Nullable InjectedFault choose(
            @Nullable String route, String backend, String instance, HttpHeaders head, boolean isHeadOnly, long now) {
        for (InjectedFault fault : faults) {
            if (fault.matches(route, backend, instance, head, now)
                    && !(isHeadOnly && fault.type() == FaultType.TRUNCATE)
                    && random.getAsDouble() * PERCENT < fault.order().percent()) {
                fault.countCall();
                return fault;
            }
        }
        return null;
    }
}
