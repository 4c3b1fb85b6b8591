package io.weir.perf.run;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/**
 * A gateway that runs elsewhere, and the simulator behind it that is to be broken.
 *
 * @param gateway where callers ask
 * @param faults the simulator's management port
 */
public record Target(URI gateway, URI faults) {

    private static final Duration PATIENCE = Duration.ofSeconds(5);
    /** What a simulator's answer begins with. */
    private static final String FAULTS = "{\"faults\"";

    /**
     * Reads what was said on the command line.
     *
     * @throws IllegalArgumentException if one of them is no URL of HTTP
     */
    static Target of(String gateway, String faults) {
        return new Target(url("--target", gateway), url("--faults", faults));
    }

    private static URI url(String option, String text) {
        try {
            URI uri = new URI(text.replaceAll("/+$", ""));
            if (("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()))
                    && uri.getHost() != null
                    && uri.getQuery() == null
                    && uri.getFragment() == null) {
                return uri;
            }
        } catch (URISyntaxException e) {
            // As below.
        }
        throw new IllegalArgumentException(option + ' ' + text + " (expected: a URL, such as http://127.0.0.1:8080)");
    }

    /**
     * Looks whether both are there.
     *
     * @throws RunFailure if the gateway does not answer, or if there is no simulator that lets itself be broken
     */
    void check() throws InterruptedException {
        get("--target", gateway);
        URI control = control();
        HttpResponse<String> answer = get("--faults", control);
        if (answer.statusCode() == 403) {
            throw new RunFailure("--faults " + control
                    + ": not to be broken from here (expected: a simulator with sim.faults.remote=true)");
        }
        if (answer.statusCode() != 200 || !answer.body().replaceAll("\\s", "").startsWith(FAULTS)) {
            throw new RunFailure("--faults " + control + ": no simulator's, status " + answer.statusCode()
                    + " (expected: the management port of weir-backends-sim, such as http://127.0.0.1:9080)");
        }
    }

    /** Takes all faults away, if it still can be told so: nobody else knows of them. */
    void heal() {
        try (HttpClient http = HttpClient.newBuilder().connectTimeout(PATIENCE).build()) {
            http.send(
                    HttpRequest.newBuilder(control()).timeout(PATIENCE).DELETE().build(),
                    HttpResponse.BodyHandlers.discarding());
        } catch (IOException e) {
            System.err.println("perf/run: " + control() + " does not answer, and may still have faults: DELETE it");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private URI control() {
        return URI.create(faults + "/faults");
    }

    /** Whatever it answers: there it is. */
    private static HttpResponse<String> get(String option, URI uri) throws InterruptedException {
        try (HttpClient http = HttpClient.newBuilder().connectTimeout(PATIENCE).build()) {
            return http.send(
                    HttpRequest.newBuilder(uri).timeout(PATIENCE).build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new RunFailure(
                    option + ' ' + uri + " does not answer: " + e.getClass().getSimpleName(), e);
        }
    }
}
