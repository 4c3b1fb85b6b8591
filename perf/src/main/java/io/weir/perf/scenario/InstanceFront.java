package io.weir.perf.scenario;

import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Proxies in front of the same instances, with settings as alike as the proxies allow: a deadline of 800 ms;
 * a call that was not sent, or whose connection was lost, goes to another instance once; any number of
 * instances may be ejected. Envoy ejects for five seconds, after five failures in a row. HAProxy ejects after
 * five failures or two failed health checks, until two checks succeed; it also repeats a call after its
 * time-out. The gateway has its defaults and no health checks.
 */
record InstanceFront(RunningServer gateway) {

    /** Starts the gateway in front of backends with these ports; a backend's path has its name. */
    static InstanceFront start(Scenario.Options options, Processes processes, Map<String, List<Integer>> backends)
            throws Exception {
        StringBuilder routes = new StringBuilder();
        StringBuilder instances = new StringBuilder();
        backends.forEach((name, ports) -> {
            routes.append(
                    "  - { id: %s, uri: \"backend://%s\", predicates: [ Path=/%s/** ] }%n".formatted(name, name, name));
            String uris = ports.stream()
                    .map("{ uri: \"http://127.0.0.1:%d\" }"::formatted)
                    .collect(Collectors.joining(", "));
            instances.append("    %s: { deadline: 800ms, instances: [ %s ] }%n".formatted(name, uris));
        });
        Path file = Files.writeString(processes.directory().resolve("instances.yml"), """
                spring.cloud.gateway.server.webflux.routes:
                %sweir:
                  access-log: { enabled: false }
                  backends:
                %s""".formatted(routes, instances));
        List<String> arguments = new ArrayList<>(List.of(file.toString()));
        if (options.quick()) {
            // All cases begin at once on a cold JVM, and the limit is not their subject.
            backends.keySet()
                    .forEach(name -> arguments.add("--weir.backends." + name + ".bulkhead.max-concurrent-calls=60"));
        }
        arguments.addAll(options.calm());
        backends.keySet().forEach(name -> arguments.addAll(options.disable(name)));
        int unused = backends.values().iterator().next().getFirst();
        RunningServer gateway = options.startGateway(processes, unused, unused, arguments);
        if (options.without().contains(Scenario.EJECTION)) {
            backends.keySet().forEach(name -> gateway.operate(name, "{\"breaker\": \"closed\"}"));
        }
        return new InstanceFront(gateway);
    }

    OpenLoad load(String backend) {
        return Scenario.load(gateway.port(), "/" + backend + "/1");
    }

    long ejections(String backend) {
        return logged("Breaker of instance \\S+ of backend " + backend + " opened: ");
    }

    long openings(String backend) {
        return logged("Breaker of backend " + backend + " opened: ");
    }

    private long logged(String text) {
        return Pattern.compile(text)
                .matcher(gateway.process().orElseThrow().output())
                .results()
                .count();
    }
}
