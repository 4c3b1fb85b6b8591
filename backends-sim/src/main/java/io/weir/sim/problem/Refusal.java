package io.weir.sim.problem;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;

/** A request that is answered with a problem of its own, in every stack with the same one. */
public final class Refusal extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final HttpStatus status;
    private final String title;
    private final transient @Nullable Duration retryAfter;

    private Refusal(HttpStatus status, String title, String detail, @Nullable Duration retryAfter) {
        // No stack trace: refusals are cheap, and say themselves what was wrong.
        super(detail, null, false, false);
        this.status = status;
        this.title = title;
        this.retryAfter = retryAfter;
    }

    /** 400: what the caller sent, and what was expected. */
    public static Refusal badRequest(String detail) {
        return new Refusal(HttpStatus.BAD_REQUEST, "Bad request", detail, null);
    }

    /** 404. */
    public static Refusal notFound(String detail) {
        return new Refusal(HttpStatus.NOT_FOUND, "Not found", detail, null);
    }

    /** 501: this jar or stack does not carry what was asked for. */
    public static Refusal notCarried(String detail) {
        return new Refusal(HttpStatus.NOT_IMPLEMENTED, "Not in this stack", detail, null);
    }

    /** 503, with a {@code Retry-After} of a second. */
    public static Refusal unavailable(String title, String detail) {
        return new Refusal(HttpStatus.SERVICE_UNAVAILABLE, title, detail, Duration.ofSeconds(1));
    }

    HttpStatus status() {
        return status;
    }

    String title() {
        return title;
    }

    @Nullable
    Duration retryAfter() {
        return retryAfter;
    }
}
