package io.weir.perf.run;

import io.weir.perf.run.TestServers.GatewayUnderTest;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;

/** A gateway that runs elsewhere; {@code faults} is the management URL of the simulator behind it. */
public record RemoteTarget(URI gateway, URI faults) {

    private static final int HEAL_ATTEMPTS = 5;
    private static final Duration HEAL_INTERVAL = Duration.ofMillis(500);

    private static final String FAULTS = "{\"faults\"";

    static RemoteTarget parse(String gateway, String faults) {
        return new RemoteTarget(url("--target", gateway), url("--faults", faults));
    }

    static URI url(String option, String text) {
        if (!text.matches("https?://[^/\\s?#]+[^\\s?#]*")) {
            throw new IllegalArgumentException(
                    option + ' ' + text + " (expected: a URL, such as http://127.0.0.1:8080)");
        }
        return URI.create(text.replaceAll("/+$", ""));
    }

    GatewayUnderTest servers() {
        return new GatewayUnderTest(
                new RunningServer("the target", Optional.empty(), gateway, gateway),
                new RunningServer("the simulator", Optional.empty(), faults, faults));
    }

    private URI control() {
        return URI.create(faults + "/faults");
    }

    /** Fails if the gateway does not answer, or if the simulator cannot be controlled from here. */
    void check() {
        get("--target", gateway);
        HttpResponse<String> answer = get("--faults", control());
        if (answer.statusCode() == 403) {
            throw new RunFailure("--faults " + control()
                    + ": refuses changes from this host (expected: a simulator with sim.faults.remote=true)");
        }
        if (answer.statusCode() != 200 || !compact(answer).startsWith(FAULTS)) {
            throw new RunFailure("--faults " + control() + ": not a simulator, status " + answer.statusCode()
                    + " (expected: the management port of weir-backends-sim, such as http://127.0.0.1:9080)");
        }
    }

    private static HttpResponse<String> get(String option, URI uri) {
        try {
            return HttpControl.send("GET", uri, "");
        } catch (IOException e) {
            throw new RunFailure(
                    option + ' ' + uri + " does not answer: " + e.getClass().getSimpleName(), e);
        }
    }

    /** Removes all faults. Repeats that, because a fault that was sent before may arrive later. */
    void heal() {
        try {
            for (int i = 0; i < HEAL_ATTEMPTS; i++) {
                HttpControl.send("DELETE", control(), "");
                Thread.sleep(HEAL_INTERVAL);
                if (compact(HttpControl.send("GET", control(), "")).equals(FAULTS + ":[]}")) {
                    return;
                }
            }
        } catch (IOException e) {
            // Reported below.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        System.err.println("perf/run: " + control() + " may still have faults: DELETE it");
    }

    private static String compact(HttpResponse<String> answer) {
        return answer.body().replaceAll("\\s", "");
    }
}
