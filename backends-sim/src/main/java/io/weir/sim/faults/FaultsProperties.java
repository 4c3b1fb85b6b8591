package io.weir.sim.faults;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Faults that are on from the start, and who may change them.
 *
 * @param seed of everything that is drawn; default 0
 * @param script faults that are posted before the service listens, as in a document for {@code PUT /faults}; default none
 * @param remote whether {@code /faults} answers callers that are not on this machine; default false. The management
 *     port listens on loopback by default; this is a second lock for when it is opened for metrics
 */
@ConfigurationProperties("sim.faults")
record FaultsProperties(
        @Nullable Long seed,
        @Nullable List<FaultEntry> script,
        @DefaultValue("false") boolean remote) {

    FaultDocument document() {
        return new FaultDocument(seed, script == null ? List.of() : script);
    }
}
