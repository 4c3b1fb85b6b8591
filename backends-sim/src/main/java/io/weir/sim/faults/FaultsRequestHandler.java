package io.weir.sim.faults;

import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;

/**
 * Handles requests to {@code /faults}, independent of the server. The two adapters beside it are thin.
 *
 * <ul>
 *   <li>{@code GET}: lists the active and scheduled faults;
 *   <li>{@code PUT}: replaces all faults by this script;
 *   <li>{@code POST}: adds this script;
 *   <li>{@code DELETE}: heals all faults.
 * </ul>
 */
final class FaultsRequestHandler {

    static final String PATH = "/faults";

    /** A script with 100 faults takes 20 KiB. */
    static final int DOCUMENT_MAX_BYTES = 64 * 1024;

    private final FaultRegistry registry;
    private final FaultJson documents;
    private final boolean remote;

    FaultsRequestHandler(FaultRegistry registry, FaultJson documents, boolean remote) {
        this.registry = registry;
        this.documents = documents;
        this.remote = remote;
    }

    /** An answer, independent of the server. */
    record FaultsAnswer(HttpStatus status, String contentType, String body) {

        /** The value of {@code Allow} in a 405 answer. */
        static final String ALLOW = "GET, PUT, POST, DELETE";
    }

    FaultsAnswer handle(String method, @Nullable InetAddress caller, byte[] body) {
        if (!remote && (caller == null || !caller.isLoopbackAddress())) {
            return problem(
                    HttpStatus.FORBIDDEN,
                    "caller: not on this machine (expected: a loopback address, or sim.faults.remote=true)",
                    null);
        }
        if (body.length > DOCUMENT_MAX_BYTES) {
            return problem(
                    HttpStatus.CONTENT_TOO_LARGE,
                    "document: too long (expected: at most " + DOCUMENT_MAX_BYTES + " bytes)",
                    null);
        }
        try {
            switch (method) {
                case "GET" -> {}
                case "PUT" -> {
                    FaultJson.ParsedScript script = documents.read(body);
                    registry.replace(script.faults(), script.seed());
                }
                case "POST" -> {
                    FaultJson.ParsedScript script = documents.read(body);
                    registry.add(script.faults(), script.seed());
                }
                case "DELETE" -> registry.heal();
                default -> {
                    return problem(
                            HttpStatus.METHOD_NOT_ALLOWED,
                            "method: " + method + " (expected: " + FaultsAnswer.ALLOW + ")",
                            null);
                }
            }
        } catch (InvalidFaultException e) {
            return problem(HttpStatus.BAD_REQUEST, String.valueOf(e.getMessage()), e.field());
        }
        return new FaultsAnswer(HttpStatus.OK, "application/json", documents.write(Map.of("faults", list())));
    }

    private List<Map<String, Object>> list() {
        return registry.status().stream().map(FaultsRequestHandler::describe).toList();
    }

    private static Map<String, Object> describe(FaultRegistry.FaultStatus status) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("state", status.failure() != null ? "failed" : status.active() ? "on" : "waiting");
        if (!status.active()) {
            fields.put("startsIn", status.startsIn());
        }
        if (status.healsIn() != null) {
            fields.put("healsIn", status.healsIn());
        }
        fields.put("hits", status.hits());
        fields.put("held", status.held());
        if (status.failure() != null) {
            fields.put("failure", status.failure());
        }
        fields.put("fault", status.fault());
        return fields;
    }

    private FaultsAnswer problem(HttpStatus status, String detail, @Nullable String field) {
        Map<String, Object> problem = new LinkedHashMap<>();
        problem.put("title", status.getReasonPhrase());
        problem.put("status", status.value());
        problem.put("detail", detail);
        if (field != null) {
            problem.put("field", field);
        }
        return new FaultsAnswer(status, "application/problem+json", documents.write(problem));
    }
}
