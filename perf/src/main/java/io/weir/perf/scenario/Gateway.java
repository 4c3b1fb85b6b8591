package io.weir.perf.scenario;

import io.weir.perf.run.Child;
import io.weir.perf.run.Host;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The built gateway, in a process of its own, with a shipped configuration. */
final class Gateway implements AutoCloseable {

    /** A JVM that lives for seconds: less to compile is more for the rest. */
    private static final List<String> SHORT_LIVED = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    private final Child child;
    private final int port;
    private final int managementPort;
    private final HttpClient http = HttpClient.newHttpClient();

    private Gateway(Child child, int port, int managementPort) {
        this.child = child;
        this.port = port;
        this.managementPort = managementPort;
    }

    /** Starts it between two backends, and waits until it is ready. */
    static Gateway start(Scenario.Options options, int mvcPort, int reactivePort, List<String> properties)
            throws IOException, InterruptedException {
        int port = Host.freePort();
        int managementPort = Host.freePort();
        List<String> command =
                new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java")));
        if (options.quick()) {
            command.addAll(SHORT_LIVED);
        }
        command.addAll(List.of(
                "-jar", options.jar().toString(), options.configuration().toString()));
        command.addAll(properties);
        Child child = Child.start(
                "the gateway",
                command,
                Map.of(
                        "GATEWAY_PORT", Integer.toString(port),
                        "MANAGEMENT_PORT", Integer.toString(managementPort),
                        "MVC_PORT", Integer.toString(mvcPort),
                        "REACTIVE_PORT", Integer.toString(reactivePort)));
        child.awaitAnswer(URI.create("http://127.0.0.1:" + managementPort + "/actuator/health/readiness"));
        return new Gateway(child, port, managementPort);
    }

    private HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return http.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + managementPort + path))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    int port() {
        return port;
    }

    /** The sum of a metric over the lines that have all of these labels. */
    double metric(String name, String... labels) throws IOException, InterruptedException {
        return get("/actuator/prometheus")
                .body()
                .lines()
                .filter(line -> line.startsWith(name + "{"))
                .filter(line -> List.of(labels).stream().allMatch(line::contains))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }

    @Override
    public void close() {
        child.close();
    }
}
