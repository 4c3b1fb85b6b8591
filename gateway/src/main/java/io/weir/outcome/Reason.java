package io.weir.outcome;

import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Why the gateway answered by itself.
 *
 * <p>The word is the same everywhere: problem type, {@code Proxy-Status}, metric tag, access log, alert, runbook.
 */
public enum Reason {
    /** The circuit breaker does not permit the call. */
    CIRCUIT_OPEN("circuit-open", 503, "destination_unavailable", "The backend is failing; calls to it are paused."),
    /** No permit is free, and the queue for one is full. */
    BULKHEAD_FULL("bulkhead-full", 503, "connection_limit_reached", "The backend is at its limit of concurrent calls."),
    /** Waited in the queue for as long as it may, without a permit. */
    QUEUE_TIMEOUT("queue-timeout", 503, "connection_limit_reached", "No permit for the backend came free in time."),
    /** The gateway protects itself: too much in flight, event loops late, memory short. */
    GATEWAY_OVERLOADED("gateway-overloaded", 503, "proxy_internal_response", "The gateway is overloaded."),
    /** The gateway drains before it stops. */
    SHUTTING_DOWN("shutting-down", 503, "proxy_internal_response", "The gateway is shutting down."),
    /** The exchange's budget is spent. */
    DEADLINE_EXCEEDED("deadline-exceeded", 504, "http_response_timeout", "The time for the answer is spent."),
    /** No connection to the backend in time. */
    CONNECT_TIMEOUT("connect-timeout", 504, "connection_timeout", "The backend could not be reached in time."),
    /** The backend refused the connection, is unreachable, or TLS failed. */
    CONNECT_FAILED("connect-failed", 502, "connection_refused", "The backend could not be reached."),
    /** The backend broke off, or answered something that is not HTTP. */
    CONNECTION_LOST("connection-lost", 502, "connection_terminated", "The backend broke off its answer."),
    /** A request that cannot be passed on. */
    BAD_REQUEST("bad-request", 400, "http_request_error", "The request is malformed."),
    /** The request's body is larger than allowed. */
    PAYLOAD_TOO_LARGE("payload-too-large", 413, "http_request_error", "The request's body is too large."),
    /** The request line is longer than allowed. */
    URI_TOO_LONG("uri-too-long", 414, "http_request_error", "The request's URI is too long."),
    /** The request's header section is larger than allowed. */
    HEADERS_TOO_LARGE("headers-too-large", 431, "http_request_error", "The request's headers are too large."),
    /** The caller stalls while sending its head or body, or while reading its answer. */
    CLIENT_TOO_SLOW("client-too-slow", 408, "http_request_error", "The request did not arrive in time."),
    /** No route matches. */
    NO_ROUTE("no-route", 404, "destination_not_found", "No route matches the request."),
    /** A defect of the gateway's own. */
    INTERNAL_ERROR("internal-error", 500, "proxy_internal_error", "The gateway failed."),
    /** The caller left before its answer was complete: in logs and metrics only. */
    CLIENT_CLOSED("client-closed", 499, "", "The caller left.");

    private static final int LEFT = 499;
    private static final Map<String, Reason> BY_WORD =
            Arrays.stream(values()).collect(Collectors.toUnmodifiableMap(Reason::word, Function.identity()));

    private final String word;
    private final int code;
    private final String proxyError;
    private final String title;

    Reason(String word, int status, String proxyError, String title) {
        this.word = word;
        this.code = status;
        this.proxyError = proxyError;
        this.title = title;
    }

    /** The word for this reason, the same wherever it shows. */
    public String word() {
        return word;
    }

    /** The status that the caller is answered with. */
    public HttpResponseStatus status() {
        return code == LEFT ? Left.STATUS : HttpResponseStatus.valueOf(code);
    }

    /** The error type of RFC 9209, section 2.3, that comes nearest; empty where nothing is sent. */
    public String proxyError() {
        return proxyError;
    }

    /** The sentence that the problem carries as its title. */
    public String title() {
        return title;
    }

    /** Whether the answer is a 503, so that it says when to try again. */
    public boolean isShedding() {
        return code == 503;
    }

    /** Known to nobody but nginx, whose word it is, and so not among Netty's. */
    private static final class Left {
        static final HttpResponseStatus STATUS = new HttpResponseStatus(LEFT, "Client Closed Request");
    }

    /**
     * The reason with this word.
     *
     * @throws IllegalArgumentException if there is none
     */
    public static Reason of(String word) {
        Reason reason = BY_WORD.get(word);
        if (reason == null) {
            throw new IllegalArgumentException("reason: " + word + " (expected: one of "
                    + Arrays.stream(values()).map(Reason::word).collect(Collectors.joining(", ")) + ")");
        }
        return reason;
    }
}
