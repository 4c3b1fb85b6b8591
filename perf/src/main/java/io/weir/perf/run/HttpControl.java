package io.weir.perf.run;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The only control client: readiness, faults, meters, and operators' changes. It makes no load. */
public final class HttpControl {

    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private static final HttpClient HTTP = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(TIMEOUT)
            .build();

    private HttpControl() {}

    /** A line of the Prometheus text format. */
    record Metric(String name, String labels, double value) {

        static Metric parse(String line) {
            int space = line.lastIndexOf(' ');
            int brace = line.indexOf('{');
            return new Metric(
                    line.substring(0, brace < 0 ? space : brace),
                    brace < 0 ? "" : line.substring(brace + 1, line.lastIndexOf('}')),
                    Double.parseDouble(line.substring(space + 1)));
        }
    }

    /** Sends a request, with a JSON body unless that is empty. */
    static HttpResponse<String> send(String method, URI uri, String json) throws IOException {
        HttpRequest.BodyPublisher body =
                json.isEmpty() ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(json);
        HttpRequest request = HttpRequest.newBuilder(uri)
                .timeout(TIMEOUT)
                .header("Content-Type", "application/json")
                .method(method, body)
                .build();
        try {
            return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    /** Sends a request that must be answered with 2xx. */
    static void change(String server, String method, URI uri, String json) {
        String text = server + ": " + (method + ' ' + uri + ' ' + json).strip();
        try {
            HttpResponse<String> answer = send(method, uri, json);
            if (answer.statusCode() / 100 != 2) {
                throw new RunFailure(text + ": status " + answer.statusCode() + " (expected: 2xx)");
            }
        } catch (IOException e) {
            throw new RunFailure(text + ": " + e, e);
        }
    }

    /** The body of the answer; empty unless the status is 200. */
    public static Optional<String> get(String url) {
        try {
            HttpResponse<String> answer = send("GET", URI.create(url), "");
            return answer.statusCode() == 200 ? Optional.of(answer.body()) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Whether the answer has the status 200. */
    public static boolean answers(String url) {
        return get(url).isPresent();
    }

    /** All meters of a server. */
    static List<Metric> metrics(URI management) throws IOException {
        HttpResponse<String> answer = send("GET", URI.create(management + "/actuator/prometheus"), "");
        if (answer.statusCode() != 200) {
            throw new IOException("status " + answer.statusCode());
        }
        return answer.body()
                .lines()
                .filter(line -> !line.startsWith("#") && !line.isBlank())
                .map(Metric::parse)
                .toList();
    }
}
