package io.weir.authorization;

/** What becomes of a request whose authorizer fails. */
public enum OnFailure {
    /** It is refused. */
    REFUSE,
    /** It goes on to the backend, without the fields of the authorizer. */
    PASS
}
