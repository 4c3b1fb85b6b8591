package io.weir.config.check;

import io.netty.util.NetUtil;
import io.weir.config.BackendProperties;
import io.weir.config.InstanceProperties;
import io.weir.config.RouteProperties;
import io.weir.config.check.ValidValues.Entry;
import io.weir.engine.Mode;
import io.weir.hedge.HedgeDelay;
import io.weir.hedge.HedgeProperties;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Checks that the hedge of a route can have an effect: in time, and at another instance. */
final class HedgesCheck {

    private final Consumer<ConfigurationProblem> problems;

    HedgesCheck(Consumer<ConfigurationProblem> problems) {
        this.problems = problems;
    }

    /**
     * Checks the hedge of a route, if it has one.
     *
     * @param deadline that of the route
     */
    void check(
            Section<RouteProperties> route,
            Section<BackendProperties> backend,
            String backendName,
            Optional<Entry> deadline) {
        Entry after =
                route.in(RouteProperties::hedge).get(HedgeProperties::after).orElse(null);
        if (after == null) {
            return;
        }
        if (route.value(RouteProperties::mode).orElse(null) == Mode.STREAM) {
            problems.accept(after.problem("without effect beside mode: stream; a stream is sent once"));
        }
        String only = onlyInstance(backend);
        if (only != null) {
            problems.accept(after.problem("without effect: backend " + backendName + " has one instance, " + only
                    + ", and a hedge goes to another one"));
        }
        Duration delay = ((HedgeDelay) after.value()).duration();
        if (delay != null) {
            deadline.map(entry -> (Duration) entry.value())
                    .filter(most -> delay.compareTo(most) >= 0)
                    .ifPresent(most ->
                            problems.accept(after.expected("less than the deadline, " + ExpectedValue.duration(most))));
        }
    }

    /** The only instance that the backend can have; null: it has several, or DNS or a discovery finds it. */
    private static @Nullable String onlyInstance(Section<BackendProperties> backend) {
        Optional<URI> uri = backend.value(BackendProperties::uri);
        if (uri.isPresent()) {
            String host = String.valueOf(uri.get().getHost());
            return NetUtil.isValidIpV4Address(host) || host.startsWith("[")
                    ? uri.get().toString()
                    : null;
        }
        Set<String> instances = backend.indexes(BackendProperties::instances).keySet();
        return instances.size() == 1
                ? backend.at(BackendProperties::instances, instances.iterator().next())
                        .value(InstanceProperties::uri)
                        .map(URI::toString)
                        .orElse(null)
                : null;
    }
}
