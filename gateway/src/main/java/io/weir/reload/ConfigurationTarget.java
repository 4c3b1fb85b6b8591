package io.weir.reload;

import io.weir.config.WeirProperties;
import java.util.Set;
import org.springframework.cloud.gateway.config.GatewayProperties;

/** Applies configurations to the running gateway. */
public interface ConfigurationTarget {

    /** The resources that were prepared for a configuration. */
    @FunctionalInterface
    interface Preparation extends AutoCloseable {

        /** Closes the resources that no configuration has taken. */
        @Override
        void close();
    }

    /**
     * Looks up the addresses of the backends that a valid configuration adds. Changes nothing. May block for
     * seconds. One preparation at a time; other changes may be applied meanwhile.
     *
     * @throws RuntimeException if the configuration cannot be applied; then nothing remains of the
     *     preparation
     */
    Preparation prepare(WeirProperties weir);

    /**
     * Replaces the configuration in force with a valid one, atomically. Waits for nothing.
     *
     * @throws RuntimeException if the configuration cannot be applied; then nothing has changed
     */
    void apply(WeirProperties weir, GatewayProperties gateway);

    /**
     * Shows which numbers come from an operator. Changes nothing else.
     *
     * @param backends the backends whose {@code max-concurrent-calls} an operator has set
     */
    void showOperatorsLimits(Set<String> backends);
}
