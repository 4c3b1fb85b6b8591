package io.weir.management;

/** The gateway refuses an operator's request. The message says what was wrong and what is expected. */
final class RefusedRequestException extends RuntimeException {

    static final int STATUS_FORBIDDEN = 403;
    static final int STATUS_NOT_FOUND = 404;
    static final int STATUS_CONFLICT = 409;

    private static final long serialVersionUID = 1;

    private final int status;

    /** A refusal with a status other than 400, which an {@link IllegalArgumentException} has. */
    RefusedRequestException(int status, String message) {
        super(message, null, false, false);
        this.status = status;
    }

    int status() {
        return status;
    }
}
