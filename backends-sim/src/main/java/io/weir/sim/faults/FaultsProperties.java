package io.weir.sim.faults;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The faults that are active from the start, and access to {@code /faults}.
 *
 * @param seed seed of all random draws; default 0
 * @param script faults posted before the service listens, as in a document for {@code PUT /faults}; default
 *     none
 * @param remote whether {@code /faults} answers callers on other machines; default false. The management port
 *     listens on loopback by default; this second restriction stays if the port is opened for metrics
 */
@ConfigurationProperties("sim.faults")
record FaultsProperties(
        @Nullable Long seed,
        @Nullable List<FaultDefinition> script,
        @DefaultValue("false") boolean remote) {

    FaultScript document() {
        return new FaultScript(seed, script == null ? List.of() : script);
    }
}
