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
            // All cases begin at once on a cold JVM. Neither the shedding nor the limit is their subject.
            arguments.add("--weir.overload.target-event-loop-delay=250ms");
            backends.keySet()
                    .forEach(name -> arguments.add("--weir.backends." + name + ".bulkhead.max-concurrent-calls=60"));
        }
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

    /** How often the gateway has opened the breakers of a backend's instances. */
    long ejections(String backend) {
        return logged("Breaker of instance \\S+ of backend " + backend + " opened: ");
    }

    /** How often the gateway has opened the breaker of a backend. */
    long openings(String backend) {
        return logged("Breaker of backend " + backend + " opened: ");
    }

    private long logged(String text) {
        return Pattern.compile(text)
                .matcher(gateway.process().orElseThrow().output())
                .results()
                .count();
    }

    // ---------------------------------------------------------------- peers

    /** Starts HAProxy in front of three instances; returns the load on it. */
    static OpenLoad startHaProxy(Processes processes, List<Integer> ports) throws Exception {
        return LimitScenario.start(
                processes, "haproxy.cfg", List.of("haproxy", "-db", "-q", "-f"), """
                defaults
                    mode http
                    timeout connect 250ms
                    timeout client 30s
                    timeout server 800ms
                    timeout check 200ms
                listen callers
                    bind 127.0.0.1:%d
                    balance leastconn
                    retries 1
                    option redispatch 1
                    retry-on conn-failure empty-response response-timeout
                    option httpchk GET /health
                    default-server check inter 250ms fall 2 rise 2 observe layer7 error-limit 5 on-error mark-down
                    server a 127.0.0.1:%d
                    server b 127.0.0.1:%d
                    server c 127.0.0.1:%d
                """, ports.toArray());
    }

    /** Starts Envoy in front of three instances; returns the load on it. */
    static OpenLoad startEnvoy(Processes processes, List<Integer> ports) throws Exception {
        String endpoint = "{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: %d } } } }";
        return LimitScenario.start(
                processes,
                "envoy.yaml",
                List.of("envoy", "--disable-hot-restart", "--log-level", "error", "-c"),
                """
                static_resources:
                  listeners:
                    - address: { socket_address: { address: 127.0.0.1, port_value: %d } }
                      filter_chains:
                        - filters:
                            - name: envoy.filters.network.http_connection_manager
                              typed_config:
                                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                                stat_prefix: callers
                                http_filters:
                                  - name: envoy.filters.http.router
                                    typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
                                route_config:
                                  virtual_hosts:
                                    - name: all
                                      domains: [ "*" ]
                                      retry_policy:
                                        retry_on: connect-failure,refused-stream,reset
                                        num_retries: 1
                                        host_selection_retry_max_attempts: 3
                                        retry_host_predicate:
                                          - name: envoy.retry_host_predicates.previous_hosts
                                            typed_config: { "@type": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate }
                                      routes: [ { match: { prefix: / }, route: { cluster: backend, timeout: 0.8s } } ]
                  clusters:
                    - name: backend
                      connect_timeout: 0.25s
                      lb_policy: LEAST_REQUEST
                      circuit_breakers: { thresholds: [ { retry_budget: { budget_percent: { value: 20 }, min_retry_concurrency: 20 } } ] }
                      outlier_detection: { consecutive_5xx: 5, interval: 0.25s, base_ejection_time: 5s, max_ejection_time: 5s, max_ejection_percent: 100 }
                      common_lb_config: { healthy_panic_threshold: { value: 0 } }
                      load_assignment:
                        cluster_name: backend
                        endpoints: [ { lb_endpoints: [ ENDPOINT, ENDPOINT, ENDPOINT ] } ]
                """.replace("ENDPOINT", endpoint),
                ports.toArray());
    }
}
