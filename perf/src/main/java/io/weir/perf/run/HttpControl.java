package io.weir.perf.run;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

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

        private static final Pattern LINE = Pattern.compile("^(\\w+)(?:\\{(.*)})? (\\S+)$", Pattern.MULTILINE);

        static Metric of(MatchResult line) {
            String labels = Objects.requireNonNullElse(line.group(2), "");
            return new Metric(line.group(1), labels, Double.parseDouble(line.group(3)));
        }
    }

    static HttpResponse<String> send(String method, URI uri, String json) throws IOException {
        return send(method, uri, json, null);
    }

    /** Sends a request with a JSON body, which may be empty, and a bearer token; null: none. */
    static HttpResponse<String> send(String method, URI uri, String json, @Nullable String token) throws IOException {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri)
                .timeout(TIMEOUT)
                .header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(json));
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        try {
            return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    public static Optional<String> get(String url) {
        try {
            HttpResponse<String> answer = send("GET", URI.create(url), "");
            return answer.statusCode() == 200 ? Optional.of(answer.body()) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    public static boolean answers(String url) {
        return get(url).isPresent();
    }

    static List<Metric> metrics(URI management) throws IOException {
        HttpResponse<String> answer = send("GET", URI.create(management + "/actuator/prometheus"), "");
        if (answer.statusCode() != 200) {
            throw new IOException("status " + answer.statusCode());
        }
        return Metric.LINE.matcher(answer.body()).results().map(Metric::of).toList();
    }
}
