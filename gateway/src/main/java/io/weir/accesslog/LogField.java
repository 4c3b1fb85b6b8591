package io.weir.accesslog;

/** The members of a line of the access log. A member's name is that of the constant, in lower case. */
public enum LogField {
    TIMESTAMP,
    METHOD,
    PATH,
    HOST,
    PROTOCOL,
    ROUTE,
    BACKEND,
    INSTANCE,
    PRIORITY,
    IDENTITY,
    DOOR,
    STATUS,
    OUTCOME,
    REASON,
    DETAIL,
    LAST_GOOD_S,
    FAULT,
    CLIENT,
    USER_AGENT,
    REQUEST_ID,
    TRACE_ID,
    ATTEMPTS,
    HEDGE,
    QUEUE_MS,
    BACKEND_MS,
    TOTAL_MS,
    BYTES
}
