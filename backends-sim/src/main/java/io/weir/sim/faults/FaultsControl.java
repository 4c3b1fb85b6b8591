package io.weir.sim.faults;

import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;

/**
 * {@code /faults}, without a server: what was asked in, what is answered out. The two adapters beside it are thin.
 *
 * <ul>
 *   <li>{@code GET}: what is on or will be;
 *   <li>{@code PUT}: this script instead of what is on;
 *   <li>{@code POST}: this script beside what is on;
 *   <li>{@code DELETE}: heals everything.
 * </ul>
 */
final class FaultsControl {

    static final String PATH = "/faults";

    /** A script of 100 faults takes 20 KiB. */
    static final int DOCUMENT_MAX_BYTES = 64 * 1024;

    private final FaultBoard board;
    private final FaultsDocuments documents;
    private final boolean remote;

    FaultsControl(FaultBoard board, FaultsDocuments documents, boolean remote) {
        this.board = board;
        this.documents = documents;
        this.remote = remote;
    }

    /** An answer for either server. */
    record Answer(HttpStatus status, String contentType, String body) {

        /** What stands in {@code Allow} of a 405. */
        static final String ALLOW = "GET, PUT, POST, DELETE";
    }

    Answer handle(String method, @Nullable InetAddress caller, byte[] body) {
        if (!remote && (caller == null || !caller.isLoopbackAddress())) {
            return problem(
                    HttpStatus.FORBIDDEN,
                    "caller: not on this machine (expected: a loopback address, or sim.faults.remote=true)",
                    null);
        }
        if (body.length > DOCUMENT_MAX_BYTES) {
            return problem(
                    HttpStatus.CONTENT_TOO_LARGE,
                    "document: longer than expected (expected: at most " + DOCUMENT_MAX_BYTES + " bytes)",
                    null);
        }
        try {
            switch (method) {
                case "GET" -> {}
                case "PUT" -> {
                    FaultsDocuments.Posting posting = documents.read(body);
                    board.replace(posting.faults(), posting.seed());
                }
                case "POST" -> {
                    FaultsDocuments.Posting posting = documents.read(body);
                    board.add(posting.faults(), posting.seed());
                }
                case "DELETE" -> board.heal();
                default -> {
                    return problem(
                            HttpStatus.METHOD_NOT_ALLOWED,
                            "method: " + method + " (expected: " + Answer.ALLOW + ")",
                            null);
                }
            }
        } catch (FaultProblem e) {
            return problem(HttpStatus.BAD_REQUEST, String.valueOf(e.getMessage()), e.field());
        }
        return new Answer(HttpStatus.OK, "application/json", documents.write(Map.of("faults", list())));
    }

    private List<Map<String, Object>> list() {
        return board.status().stream().map(FaultsControl::shown).toList();
    }

    private static Map<String, Object> shown(FaultBoard.Status status) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("state", status.failure() != null ? "failed" : status.on() ? "on" : "waiting");
        if (!status.on()) {
            shown.put("startsIn", status.startsIn());
        }
        if (status.healsIn() != null) {
            shown.put("healsIn", status.healsIn());
        }
        shown.put("hits", status.hits());
        shown.put("held", status.held());
        if (status.failure() != null) {
            shown.put("failure", status.failure());
        }
        shown.put("fault", status.fault());
        return shown;
    }

    private Answer problem(HttpStatus status, String detail, @Nullable String field) {
        Map<String, Object> problem = new LinkedHashMap<>();
        problem.put("title", status.getReasonPhrase());
        problem.put("status", status.value());
        problem.put("detail", detail);
        if (field != null) {
            problem.put("field", field);
        }
        return new Answer(status, "application/problem+json", documents.write(problem));
    }
}
