package io.weir.outcome;

import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The reason for an answer that the gateway created itself.
 *
 * <p>The same word is used everywhere: problem type, {@code Proxy-Status}, metric tag, access log, alert,
 * runbook.
 */
public enum Reason {
    /** The circuit breaker does not permit the call. */
    CIRCUIT_OPEN("circuit-open", 503, "destination_unavailable", "The backend is failing; calls to it are paused."),
    /** No permit is free, and the queue is full. */
    BULKHEAD_FULL("bulkhead-full", 503, "connection_limit_reached", "The backend is at its limit of concurrent calls."),
    /** The call got no permit within the longest wait in the queue. */
    QUEUE_TIMEOUT("queue-timeout", 503, "connection_limit_reached", "No permit for the backend became free in time."),
    /** A more urgent or newer call took the call's place in the queue. */
    QUEUE_EVICTED("queue-evicted", 503, "connection_limit_reached", "Newer calls took the place in the queue."),
    /**
     * The gateway protects itself: too many exchanges in flight, delayed event loops, or too little memory.
     */
    GATEWAY_OVERLOADED("gateway-overloaded", 503, "proxy_internal_response", "The gateway is overloaded."),
    /** The gateway drains before it stops. */
    SHUTTING_DOWN("shutting-down", 503, "proxy_internal_response", "The gateway is shutting down."),
    /** The request has no valid proof of the caller's identity. */
    UNAUTHORIZED("unauthorized", 401, "http_request_denied", "The caller is not authenticated."),
    /** The caller may not use the route. */
    FORBIDDEN("forbidden", 403, "http_request_denied", "The caller may not use this route."),
    /** The route's authorizer has answered with neither a permission nor a denial. */
    AUTHORIZER_FAILED(
            "authorizer-failed", 503, "proxy_internal_response", "The request could not be authorized at present."),
    /** The caller's quota of requests is used up. */
    RATE_LIMITED("rate-limited", 429, "http_request_denied", "The caller's quota of requests is used up."),
    /** The exchange's deadline has passed. */
    DEADLINE_EXCEEDED("deadline-exceeded", 504, "http_response_timeout", "No answer arrived within the deadline."),
    /** The connection to the backend was not open in time. */
    CONNECT_TIMEOUT("connect-timeout", 504, "connection_timeout", "The backend could not be reached in time."),
    /** The backend refused the connection, is unreachable, or TLS failed. */
    CONNECT_FAILED("connect-failed", 502, "connection_refused", "The backend could not be reached."),
    /** The backend closed the connection before its answer was complete, or its answer is not HTTP. */
    CONNECTION_LOST("connection-lost", 502, "connection_terminated", "The backend broke off its answer."),
    /** The request is malformed and cannot be passed on. */
    BAD_REQUEST("bad-request", 400, "http_request_error", "The request is malformed."),
    /** The request's body is larger than allowed. */
    PAYLOAD_TOO_LARGE("payload-too-large", 413, "http_request_error", "The request's body is too large."),
    /**
     * The connection's TLS name and certificate are those of another host than the request's, or a request of
     * https came to the port that redirects to https.
     */
    MISDIRECTED(
            "misdirected", 421, "http_request_error", "The connection does not serve the request's host or scheme."),
    /** The request line is longer than allowed. */
    URI_TOO_LONG("uri-too-long", 414, "http_request_error", "The request's URI is too long."),
    /** The request's header section is larger than allowed. */
    HEADERS_TOO_LARGE("headers-too-large", 431, "http_request_error", "The request's headers are too large."),
    /** The caller stalls while sending its head or body, or while reading its answer. */
    CLIENT_TOO_SLOW("client-too-slow", 408, "http_request_error", "The request did not arrive in time."),
    /** No route matches. */
    NO_ROUTE("no-route", 404, "destination_not_found", "No route matches the request."),
    /**
     * An injected fault of an operator's experiment answers in place of the backend. Its answer has the
     * status that the operator asked for; as an outcome it counts like a 500.
     */
    FAULT_INJECTED(
            "fault-injected", 500, "proxy_internal_response", "A fault was injected into the call by an operator."),
    /** A defect of the gateway. */
    INTERNAL_ERROR("internal-error", 500, "proxy_internal_error", "The gateway failed."),
    /** The caller disconnected before its answer was complete. Appears in logs and metrics only. */
    CLIENT_CLOSED("client-closed", 499, "", "The caller left.");

    private static final int CLIENT_CLOSED_CODE = 499;
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

    /** The word of this reason, such as {@code circuit-open}. */
    public String word() {
        return word;
    }

    /** The status of the answer. */
    public HttpResponseStatus status() {
        return code == CLIENT_CLOSED_CODE ? NginxStatus.CLIENT_CLOSED_REQUEST : HttpResponseStatus.valueOf(code);
    }

    /** The closest error type of RFC 9209, section 2.3; empty if no answer is sent. */
    public String proxyError() {
        return proxyError;
    }

    /** The problem's title, a sentence. */
    public String title() {
        return title;
    }

    /** Whether the answer is a 503, which has {@code Retry-After}. */
    public boolean isShedding() {
        return code == 503;
    }

    /** Whether the backend's bulkhead had no permit for the call. */
    public boolean isBulkheads() {
        return this == BULKHEAD_FULL || this == QUEUE_TIMEOUT || this == QUEUE_EVICTED;
    }

    /** A status that nginx has introduced, and that Netty does not define. */
    private static final class NginxStatus {
        static final HttpResponseStatus CLIENT_CLOSED_REQUEST =
                new HttpResponseStatus(CLIENT_CLOSED_CODE, "Client Closed Request");
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
