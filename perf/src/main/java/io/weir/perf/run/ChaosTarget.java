package io.weir.perf.run;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A deployed gateway that injects faults into the calls of one of its routes, by {@code
 * /actuator/weirfaults}. Its backends may be anything.
 *
 * <p>Concurrency: the experiment starts and ends faults; a shutdown hook may {@linkplain #endFaults end} them
 * at any time, and then no other one starts.
 */
public final class ChaosTarget {

    static final String TOKEN = "WEIR_MANAGEMENT_TOKEN";

    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;
    private static final int OK = 200;

    private final URI gateway;
    private final URI management;
    private final String token;
    private final ChaosOptions options;
    private final List<Long> started = new ArrayList<>();
    private boolean ended;

    ChaosTarget(URI gateway, URI management, String token, ChaosOptions options) {
        this.gateway = gateway;
        this.management = management;
        this.token = token;
        this.options = options;
    }

    static ChaosTarget of(String gateway, String management, String token, ChaosOptions options) {
        return new ChaosTarget(
                RemoteTarget.url("--target", gateway), RemoteTarget.url("--management", management), token, options);
    }

    /** The backends of both routes, and the deadline of the first one. */
    public record RouteFacts(String backend, String neighbourBackend, long deadlineMillis) {}

    public URI gateway() {
        return gateway;
    }

    public ChaosOptions options() {
        return options;
    }

    /** Fails if the gateway does not answer, cannot inject faults, or does not have the two routes. */
    public RouteFacts check() {
        JsonNode shown = get("/actuator/weirfaults");
        if (!shown.path("enabled").asBoolean()) {
            throw new RunFailure(management + ": weir.faults.enabled: false (expected: true)");
        }
        long maxMillis = shown.path("maxDurationMs").asLong();
        JsonNode gatewayView = get("/actuator/weir");
        String backend = backendOf(gatewayView, "--route", options.route());
        String neighbour = backendOf(gatewayView, "--neighbour", options.neighbour());
        if (backend.equals(neighbour)) {
            throw new RunFailure("--route " + options.route() + " and --neighbour " + options.neighbour()
                    + ": both of backend " + backend + " (expected: routes of two backends)");
        }
        long deadlineMillis =
                gatewayView.path("backends").path(backend).path("deadlineMs").asLong();
        long faultMillis = 1000L * (options.faultSeconds(deadlineMillis) + ChaosOptions.SPARE_SECONDS);
        if (faultMillis > maxMillis) {
            throw new RunFailure("--seconds " + options.faultSeconds(deadlineMillis) + ": with the spare time "
                    + faultMillis + " ms (expected: at most weir.faults.max-duration, " + maxMillis + " ms)");
        }
        return new RouteFacts(backend, neighbour, deadlineMillis);
    }

    private static String backendOf(JsonNode shown, String option, String route) {
        StringJoiner known = new StringJoiner(", ");
        for (JsonNode each : shown.path("routes")) {
            String id = each.path("id").asString("");
            String backend = each.path("backend").asString("");
            if (id.equals(route) && !backend.isEmpty()) {
                return backend;
            }
            if (!backend.isEmpty()) {
                known.add(id);
            }
        }
        throw new RunFailure(option + ' ' + route + " (expected: a route of a backend: " + known + ")");
    }

    /** Starts a fault that heals by itself after that many seconds; returns its id. */
    public synchronized long inject(Map<String, ?> type, long seconds) {
        if (ended) {
            throw new RunFailure("no fault is injected any more: the run ends");
        }
        Map<String, Object> order = new TreeMap<>(type);
        order.put("route", options.route());
        order.put("percent", options.percent());
        order.put("duration", seconds + "s");
        JsonNode answer =
                send("POST", "/actuator/weirfaults", JsonMapper.shared().writeValueAsString(order));
        long id = answer.path("id").asLong();
        started.add(id);
        return id;
    }

    /** The calls that a fault has acted on so far; 0 if it is over. */
    public long calls(long id) {
        for (JsonNode fault : get("/actuator/weirfaults").path("faults")) {
            if (fault.path("id").asLong() == id) {
                return fault.path("calls").asLong();
            }
        }
        return 0;
    }

    /** Ends a fault; it may be over already. */
    public synchronized void end(long id) {
        try {
            int status = exchange("DELETE", "/actuator/weirfaults/" + id, "").statusCode();
            if (status != OK && status != NOT_FOUND) {
                throw new RunFailure("DELETE " + management + "/actuator/weirfaults/" + id + ": status " + status);
            }
            started.remove(id);
        } catch (IOException e) {
            throw new RunFailure(
                    management + " does not answer: " + e.getClass().getSimpleName(), e);
        }
    }

    /** Ends all faults of this run. Those that cannot be ended are reported; they heal by themselves. */
    synchronized void endFaults() {
        ended = true;
        for (Long id : List.copyOf(started)) {
            try {
                end(id);
            } catch (RunFailure e) {
                System.err.println("perf/run: fault " + id + " at " + management
                        + " may still be active; it heals by itself: " + e.getMessage());
            }
        }
    }

    private JsonNode get(String path) {
        return send("GET", path, "");
    }

    private JsonNode send(String method, String path, String json) {
        HttpResponse<String> answer;
        try {
            answer = exchange(method, path, json);
        } catch (IOException e) {
            throw new RunFailure(
                    "--management " + management + " does not answer: "
                            + e.getClass().getSimpleName(),
                    e);
        }
        if (answer.statusCode() == OK) {
            return JsonMapper.shared().readTree(answer.body());
        }
        String hint = answer.statusCode() == 401 || answer.statusCode() == FORBIDDEN
                ? " (expected: an operator's token in " + TOKEN + ", and weir.faults.enabled)"
                : " (expected: the management port of a gateway, such as http://127.0.0.1:8081)";
        throw new RunFailure("%s %s%s: status %d: %s%s"
                .formatted(method, management, path, answer.statusCode(), answer.body(), hint));
    }

    private HttpResponse<String> exchange(String method, String path, String json) throws IOException {
        @Nullable String bearer = token.isEmpty() ? null : token;
        return HttpControl.send(method, URI.create(management + path), json, bearer);
    }
}
