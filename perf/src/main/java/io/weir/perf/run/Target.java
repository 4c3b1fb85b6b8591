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
    private static final int HEALS = 5;
    private static final Duration LATE = Duration.ofMillis(500);

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
        try (HttpClient http = http()) {
            for (int i = 0; i < HEALS; i++) {
                http.send(request(control()).DELETE().build(), HttpResponse.BodyHandlers.discarding());
                // A fault that was sent before and is late comes after it.
                Thread.sleep(LATE);
                if (isHealed(http.send(request(control()).build(), HttpResponse.BodyHandlers.ofString()))) {
                    return;
                }
            }
        } catch (IOException e) {
            // As below.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        System.err.println("perf/run: " + control() + " may still have faults: DELETE it");
    }

    private static boolean isHealed(HttpResponse<String> answer) {
        return answer.body().replaceAll("\\s", "").equals(FAULTS + ":[]}");
    }

    private static HttpClient http() {
        return HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(PATIENCE)
                .build();
    }

    private static HttpRequest.Builder request(URI uri) {
        return HttpRequest.newBuilder(uri).timeout(PATIENCE);
    }

    private URI control() {
        return URI.create(faults + "/faults");
    }

    /** Whatever it answers: there it is. */
    private static HttpResponse<String> get(String option, URI uri) throws InterruptedException {
        try (HttpClient http = http()) {
            return http.send(request(uri).build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new RunFailure(
                    option + ' ' + uri + " does not answer: " + e.getClass().getSimpleName(), e);
        }
    }
}
