package io.weir.perf.run;

import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.stream.DoubleStream;

/**
 * A front or a backend.
 *
 * @param process empty if it runs elsewhere
 * @param service the base URL for callers
 * @param management the base URL for meters, faults and operators
 */
public record RunningServer(String name, Optional<ManagedProcess> process, URI service, URI management) {

    public static RunningServer local(ManagedProcess process, int port, int managementPort) {
        String host = "http://127.0.0.1:";
        return new RunningServer(
                process.name(), Optional.of(process), URI.create(host + port), URI.create(host + managementPort));
    }

    public String url() {
        return service.toString();
    }

    public int port() {
        return service.getPort();
    }

    public void setFault(String json) {
        change("PUT", "/faults", json);
    }

    public void heal() {
        change("DELETE", "/faults", "");
    }

    public void setLimit(String backend, int calls) {
        operate(backend, "{\"max-concurrent-calls\": " + calls + "}");
    }

    public void operate(String backend, String json) {
        change("POST", "/actuator/weir/" + backend, json);
    }

    private void change(String method, String path, String json) {
        URI uri = URI.create(management + path);
        String text = name + ": " + (method + ' ' + uri + ' ' + json).strip();
        try {
            int status = HttpControl.send(method, uri, json).statusCode();
            if (status / 100 != 2) {
                throw new RunFailure(text + ": status " + status + " (expected: 2xx)");
            }
        } catch (IOException e) {
            throw new RunFailure(text + ": " + e, e);
        }
    }

    /** The sum of a meter over all lines with these labels, of which there is at least one. */
    public double metric(String meter, String... labels) {
        double[] values = values(meter, labels);
        if (values.length == 0) {
            throw new RunFailure(name + " has no meter " + (meter + ' ' + String.join(" ", labels)).strip());
        }
        return DoubleStream.of(values).sum();
    }

    /** The sum of a meter that appears with its first event; 0 before. */
    public long count(String meter, String... labels) {
        return (long) DoubleStream.of(values(meter, labels)).sum();
    }

    private double[] values(String meter, String... labels) {
        try {
            return HttpControl.metrics(management).stream()
                    .filter(line -> line.name().equals(meter))
                    .filter(line -> List.of(labels).stream().allMatch(line.labels()::contains))
                    .mapToDouble(HttpControl.Metric::value)
                    .toArray();
        } catch (IOException e) {
            throw new RunFailure(name + " does not report meters: " + e, e);
        }
    }
}
