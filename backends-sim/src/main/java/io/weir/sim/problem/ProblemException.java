package io.weir.sim.problem;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;

/** An exception that is answered with an RFC 9457 problem, the same in every stack. */
public final class ProblemException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final HttpStatus status;
    private final String title;
    private final transient @Nullable Duration retryAfter;

    private ProblemException(HttpStatus status, String title, String detail, @Nullable Duration retryAfter) {
        // Without a stack trace: the exception is cheap, and its text names the cause.
        super(detail, null, false, false);
        this.status = status;
        this.title = title;
        this.retryAfter = retryAfter;
    }

    /** 400; {@code detail} names the value and the expectation. */
    public static ProblemException badRequest(String detail) {
        return new ProblemException(HttpStatus.BAD_REQUEST, "Bad request", detail, null);
    }

    /** 404. */
    public static ProblemException notFound(String detail) {
        return new ProblemException(HttpStatus.NOT_FOUND, "Not found", detail, null);
    }

    /** 501: the library that the request needs is not in this jar. */
    public static ProblemException notImplemented(String detail) {
        return new ProblemException(HttpStatus.NOT_IMPLEMENTED, "Not in this stack", detail, null);
    }

    /** 503, with a {@code Retry-After} of one second. */
    public static ProblemException unavailable(String title, String detail) {
        return new ProblemException(HttpStatus.SERVICE_UNAVAILABLE, title, detail, Duration.ofSeconds(1));
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
