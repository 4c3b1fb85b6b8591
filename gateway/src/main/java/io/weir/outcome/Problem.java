package io.weir.outcome;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.Map;

/**
 * Writes a {@link Refusal} as an answer: {@code application/problem+json} (RFC 9457) with
 * {@code Proxy-Status} (RFC 9209), {@code Cache-Control: no-store}, for a 503 or a 429 {@code Retry-After},
 * and for a request without sufficient proof of identity {@code WWW-Authenticate}.
 */
public final class Problem {

    /** The prefix of all problem types; the reason's word follows. */
    public static final String TYPE_PREFIX = "urn:weir:";

    /** The header of RFC 9209. */
    public static final AsciiString PROXY_STATUS = AsciiString.cached("proxy-status");

    /** RFC 9457's media type. */
    public static final AsciiString PROBLEM_JSON = AsciiString.cached("application/problem+json");

    private static final String REQUEST_ID = ",\"request-id\":\"";
    private static final String DETAIL = ",\"detail\":\"";
    private static final String RETRY_AFTER_MILLIS = ",\"retry-after-ms\":";
    /** The end of the request's id, and of the object. */
    private static final int QUOTE_AND_BRACE = 2;

    private static final AsciiString GRPC_STATUS = AsciiString.cached("grpc-status");
    private static final AsciiString GRPC_MESSAGE = AsciiString.cached("grpc-message");
    private static final AsciiString APPLICATION_GRPC = AsciiString.cached("application/grpc");

    /** The parts of each answer that do not depend on the request, built once. */
    private static final Map<Reason, Prebuilt> PREBUILT = new EnumMap<>(Reason.class);

    static {
        for (Reason reason : Reason.values()) {
            PREBUILT.put(reason, Prebuilt.of(reason));
        }
    }

    private Problem() {}

    /** Adds the answer's header fields, except {@code Content-Length}. */
    public static void writeHead(Refusal refusal, HttpHeaders headers) {
        Prebuilt prebuilt = prebuilt(refusal);
        headers.set(HttpHeaderNames.CONTENT_TYPE, PROBLEM_JSON);
        headers.set(HttpHeaderNames.CACHE_CONTROL, HttpHeaderValues.NO_STORE);
        headers.set(PROXY_STATUS, prebuilt.proxyStatus);
        if (refusal.retryAfterMillis() > 0) {
            headers.set(HttpHeaderNames.RETRY_AFTER, Long.toString(RetryAfter.seconds(refusal.retryAfterMillis())));
        }
        writeChallenge(refusal, headers);
    }

    private static void writeChallenge(Refusal refusal, HttpHeaders headers) {
        String challenge = refusal.challenge();
        if (challenge != null) {
            headers.set(HttpHeaderNames.WWW_AUTHENTICATE, challenge);
        }
    }

    /**
     * The answer's body. The caller owns the buffer.
     *
     * @param requestId the request's id, as in {@code X-Request-Id}
     */
    public static ByteBuf body(Refusal refusal, String requestId, ByteBufAllocator allocator) {
        ByteBuf body = allocator.ioBuffer(length(refusal, requestId));
        body.writeBytes(prebuilt(refusal).start);
        ByteBufUtil.writeAscii(body, REQUEST_ID);
        Json.writeEscaped(body, requestId);
        body.writeByte('"');
        String detail = refusal.detail();
        if (detail != null) {
            ByteBufUtil.writeAscii(body, DETAIL);
            Json.writeEscaped(body, detail);
            body.writeByte('"');
        }
        if (refusal.retryAfterMillis() > 0) {
            ByteBufUtil.writeAscii(body, RETRY_AFTER_MILLIS);
            ByteBufUtil.writeAscii(body, Long.toString(refusal.retryAfterMillis()));
        }
        body.writeByte('}');
        return body;
    }

    /**
     * The length of the {@linkplain #body body} in bytes, for the access log, which writes its line before
     * the body is written.
     */
    public static int length(Refusal refusal, String requestId) {
        int length =
                prebuilt(refusal).start.length + REQUEST_ID.length() + Json.escapedLength(requestId) + QUOTE_AND_BRACE;
        String detail = refusal.detail();
        if (detail != null) {
            length += DETAIL.length() + Json.escapedLength(detail) + 1;
        }
        if (refusal.retryAfterMillis() > 0) {
            length += RETRY_AFTER_MILLIS.length()
                    + Long.toString(refusal.retryAfterMillis()).length();
        }
        return length;
    }

    /**
     * Adds the header fields of a gRPC answer without messages ("trailers-only"): with HTTP status 200, and
     * the reason in {@code grpc-status}.
     */
    public static void writeGrpc(Refusal refusal, HttpHeaders headers) {
        headers.set(HttpHeaderNames.CONTENT_TYPE, APPLICATION_GRPC);
        headers.set(HttpHeaderNames.CACHE_CONTROL, HttpHeaderValues.NO_STORE);
        headers.set(PROXY_STATUS, prebuilt(refusal).proxyStatus);
        headers.set(GRPC_STATUS, prebuilt(refusal).grpcStatus);
        headers.set(GRPC_MESSAGE, refusal.reason().word());
        if (refusal.retryAfterMillis() > 0) {
            headers.set(HttpHeaderNames.RETRY_AFTER, Long.toString(RetryAfter.seconds(refusal.retryAfterMillis())));
        }
        writeChallenge(refusal, headers);
    }

    /** Adds the two fields that end a gRPC answer: its status, and the reason's word. */
    public static void writeGrpcStatus(Reason reason, HttpHeaders fields) {
        fields.set(GRPC_STATUS, prebuilt(reason).grpcStatus);
        fields.set(GRPC_MESSAGE, reason.word());
    }

    /**
     * Whether the {@code Content-Type} of a request or an answer is gRPC's, so that the caller understands
     * only a gRPC status.
     */
    public static boolean isGrpc(HttpHeaders head) {
        String type = head.get(HttpHeaderNames.CONTENT_TYPE);
        return type != null && type.startsWith("application/grpc");
    }

    /** Of an injected fault with a status of its own, the parts are built for each answer. */
    private static Prebuilt prebuilt(Refusal refusal) {
        return refusal.hasReasonsStatus()
                ? prebuilt(refusal.reason())
                : Prebuilt.of(refusal.reason(), refusal.status(), grpcStatusOf(refusal.status()));
    }

    /** The mapping of HTTP statuses in gRPC's protocol. */
    private static String grpcStatusOf(int status) {
        return switch (status) {
            case 400 -> "13";
            case 401 -> "16";
            case 403 -> "7";
            case 404 -> "12";
            case 429, 502, 503, 504 -> "14";
            default -> "2";
        };
    }

    private static Prebuilt prebuilt(Reason reason) {
        Prebuilt prebuilt = PREBUILT.get(reason);
        if (prebuilt == null) {
            throw new IllegalStateException("reason: " + reason + " (expected: a reason with a prebuilt answer)");
        }
        return prebuilt;
    }

    private static final class Prebuilt {

        private final byte[] start;
        private final AsciiString proxyStatus;
        private final String grpcStatus;

        Prebuilt(byte[] start, AsciiString proxyStatus, String grpcStatus) {
            this.start = start;
            this.proxyStatus = proxyStatus;
            this.grpcStatus = grpcStatus;
        }

        static Prebuilt of(Reason reason) {
            return of(reason, reason.status().code(), grpcStatus(reason));
        }

        static Prebuilt of(Reason reason, int status, String grpcStatus) {
            String start = "{\"type\":\"" + TYPE_PREFIX + reason.word() + "\",\"title\":\"" + reason.title()
                    + "\",\"status\":" + status;
            String proxyStatus = "weir; error=" + reason.proxyError() + "; details=\"" + reason.word() + '"';
            return new Prebuilt(start.getBytes(StandardCharsets.UTF_8), AsciiString.cached(proxyStatus), grpcStatus);
        }

        /** The status that the gRPC protocol maps the HTTP status to, or a more precise one. */
        private static String grpcStatus(Reason reason) {
            return switch (reason) {
                case FAULT_INJECTED -> grpcStatusOf(reason.status().code());
                case DEADLINE_EXCEEDED, CONNECT_TIMEOUT, CLIENT_TOO_SLOW -> "4";
                case NO_ROUTE -> "12";
                case UNAUTHORIZED -> "16";
                case FORBIDDEN -> "7";
                case RATE_LIMITED, PAYLOAD_TOO_LARGE, URI_TOO_LONG, HEADERS_TOO_LARGE -> "8";
                case BAD_REQUEST, INTERNAL_ERROR -> "13";
                case CLIENT_CLOSED -> "1";
                default -> "14";
            };
        }
    }
}
