package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.weir.outcome.Refusal;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The state of an HTTP/1 connection, and the decisions that depend on this state alone. It does no I/O.
 *
 * <pre>
 *  OPEN ─── malformed, or too slow ──► REFUSING ─── earlier responses written ──► LINGERING ──► closed
 *  OPEN ─── last response written ───► CLOSING ──── Reactor Netty closes ───────► LINGERING or closed
 *  OPEN ─── answered, and the caller still sends more than 64 KiB of body ──────► LINGERING
 *  OPEN ─── 101 ─────────────────────► UPGRADED
 * </pre>
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
final class Http1ConnectionState {

    enum Phase {
        OPEN,
        /** A refusal waits until the earlier responses are written; input is ignored. */
        REFUSING,
        /**
         * The last response is written, and Reactor Netty closes the connection after the flush; input is
         * ignored.
         */
        CLOSING,
        /** The caller can still read the last response; input is dropped. See {@link LingeringClose}. */
        LINGERING,
        /** The connection carries WebSocket or HTTP/2. */
        UPGRADED
    }

    private enum Response {
        NONE,
        WRITING,
        /** The response in progress says {@code Connection: close}. */
        WRITING_LAST
    }

    private Phase phase = Phase.OPEN;
    private Response response = Response.NONE;

    /** Requests that were passed on and whose responses are incomplete. */
    private int openRequests;
    /** The methods of the open requests whose response has not begun. */
    private final ArrayDeque<HttpMethod> methods = new ArrayDeque<>();
    /** The request whose body is still arriving. */
    private @Nullable HttpRequest arriving;

    /** Bytes of that body that have arrived. */
    private long arrivedBytes;
    /** Bytes of that body that have arrived since its response was complete. */
    private long unreadBytes;

    /** The caller has sent {@code Connection: close} with a request that waits behind others. */
    private boolean isCloseRequested;
    /** At least one response is complete. */
    private boolean hasServed;
    /** The timer runs for a request head. */
    private boolean isHeadTimed;

    private @Nullable Refusal refusal;
    /**
     * The refusal's turn comes when no more than this many requests are open: 1 if the refused request is one
     * of them.
     */
    private int refusalTurn;

    Phase phase() {
        return phase;
    }

    void enter(Phase next) {
        phase = next;
    }

    boolean isOpen() {
        return phase == Phase.OPEN;
    }

    /** Whether all further input is ignored. */
    boolean ignoresInput() {
        return switch (phase) {
            case REFUSING, CLOSING, LINGERING -> true;
            case OPEN, UPGRADED -> isBehindLastRequest();
        };
    }

    /** Whether the request that announced the close has arrived completely: the caller may send no other. */
    boolean isBehindLastRequest() {
        return isCloseRequested && arriving == null;
    }

    // ---------------------------------------------------------------- requests

    /** Whether no request has arrived before. */
    boolean awaitsFirstRequest() {
        return !hasServed && openRequests == 0;
    }

    int openRequests() {
        return openRequests;
    }

    boolean isReadingBody() {
        return arriving != null;
    }

    /** The request whose body is still arriving; null if there is none. */
    @Nullable
    HttpRequest arrivingRequest() {
        return arriving;
    }

    /** The length of the body that is still arriving; 0 if there is none, -1 if it is chunked. */
    long bodyLength() {
        HttpRequest request = arriving;
        return request == null ? 0 : Http1RequestChecks.bodyLength(request);
    }

    void requestArrived(HttpRequest request) {
        isHeadTimed = false;
        arriving = request;
        arrivedBytes = 0;
        openRequests++;
        methods.add(request.method());
    }

    void closeRequested() {
        isCloseRequested = true;
    }

    void bodyArrived(int bytes, boolean isLast) {
        arrivedBytes += bytes;
        if (isLast) {
            arriving = null;
        }
    }

    /** Stops expecting the rest of a body. */
    void abandonBody() {
        arriving = null;
    }

    /** Counts bytes of a body whose response is complete; returns whether they exceed the limit. */
    boolean exceedsUnreadLimit(int bytes) {
        unreadBytes += bytes;
        return unreadBytes > EdgeRules.UNREAD_MAX_BYTES;
    }

    // ---------------------------------------------------------------- responses

    boolean hasServed() {
        return hasServed;
    }

    boolean isWritingResponse() {
        return response != Response.NONE;
    }

    /**
     * The final response to the oldest open request begins. Reactor Netty writes it in the version of the
     * request, and needs a length or chunks even in the response to a HEAD.
     */
    void responseBegins(HttpResponse head) {
        boolean keepsAlive = HttpUtil.isKeepAlive(head);
        response = keepsAlive ? Response.WRITING : Response.WRITING_LAST;
        if (HttpVersion.HTTP_1_0.equals(head.protocolVersion())) {
            // The version of a response is the highest of its sender (RFC 9110, 2.5).
            head.setProtocolVersion(HttpVersion.HTTP_1_1);
            if (!keepsAlive) {
                head.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
            }
        }
        if (HttpMethod.HEAD.equals(methods.poll())) {
            head.headers().remove(HttpHeaderNames.TRANSFER_ENCODING);
        }
    }

    /** The response in progress is complete; returns whether it is the connection's last one. */
    boolean responseEnds() {
        boolean isLast = response == Response.WRITING_LAST;
        response = Response.NONE;
        hasServed = true;
        openRequests--;
        return isLast;
    }

    /** The last response is with Reactor Netty; a refusal that still waits is dropped. */
    void lastResponseWritten() {
        phase = Phase.CLOSING;
        refusal = null;
    }

    /** From now on, the rest of the arriving body counts as unread. */
    void startCountingUnreadBytes() {
        unreadBytes = 0;
    }

    /** Whether the response to the only open request must be the connection's last one. */
    boolean mustCloseAfterResponse() {
        return isBodyTooLargeToDrop() || (isCloseRequested && openRequests == 1);
    }

    /**
     * Whether more bytes of the request body are still to come than the connection drops before it closes.
     */
    private boolean isBodyTooLargeToDrop() {
        return arriving != null && openRequests == 1 && bodyLength() - arrivedBytes > EdgeRules.UNREAD_MAX_BYTES;
    }

    // ---------------------------------------------------------------- refusals

    /**
     * Makes a refusal the connection's last response.
     *
     * @param turn the number of open requests at which the refusal is written
     */
    void refuse(Refusal next, int turn) {
        phase = Phase.REFUSING;
        refusal = next;
        refusalTurn = turn;
    }

    /** Takes the refusal if all earlier responses are complete; null otherwise. */
    @Nullable
    Refusal takeDueRefusal() {
        Refusal due = refusal;
        if (due == null || openRequests > refusalTurn) {
            return null;
        }
        refusal = null;
        return due;
    }

    // ---------------------------------------------------------------- time and close

    boolean isHeadTimed() {
        return isHeadTimed;
    }

    void headTimed() {
        isHeadTimed = true;
    }

    /** Whether the connection was used and every request on it is complete. */
    boolean isIdle() {
        return phase == Phase.OPEN && openRequests == 0 && arriving == null && hasServed;
    }

    /** Whether the response is complete while the rest of its request's body still arrives. */
    boolean awaitsEndOfAnsweredRequest() {
        return arriving != null && openRequests == 0;
    }

    /**
     * Whether a close must leave the caller time to read: the response is complete, and input may be unread.
     */
    boolean lingersOnClose() {
        return switch (phase) {
            case OPEN -> hasServed && awaitsEndOfAnsweredRequest();
            case CLOSING -> response == Response.NONE && (openRequests > 0 || arriving != null || isCloseRequested);
            case LINGERING -> true;
            case REFUSING, UPGRADED -> false;
        };
    }
}
