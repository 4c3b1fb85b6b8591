package io.weir.fleet;

import io.netty.channel.ConnectTimeoutException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The reply of another gateway, or the reason why there is none.
 *
 * @param address the gateway's address
 * @param status the status of the answer; 0: there is none
 * @param body the answer; empty: there is none
 * @param failure the reason why there is no answer; null: there is one
 * @param isCertain whether it is known that a gateway without an answer has not acted on the request
 */
record PeerReply(
        String address, int status, String body, @Nullable String failure, boolean isCertain) {

    private static final int MAX_DETAIL = 500;
    private static final int STATUS_LOOP = 508;

    /** The gateway has answered. */
    static PeerReply answered(String address, int status, String body) {
        return new PeerReply(address, status, body, null, true);
    }

    /** The gateway was not asked. */
    static PeerReply unasked(String address, String why) {
        return new PeerReply(address, 0, "", why, true);
    }

    /** The request failed. A message of an exception may name an address, and nothing else of the request. */
    static PeerReply failed(String address, Throwable failure, Duration timeout) {
        return switch (failure) {
            case ConnectTimeoutException e ->
                unasked(address, "no connection within " + Peers.CONNECT_TIMEOUT.toSeconds() + " s");
            case ConnectException e -> unasked(address, "connection refused");
            case NoRouteToHostException e -> unasked(address, "no route to it");
            case SSLHandshakeException e -> unasked(address, "TLS failed: " + e.getMessage());
            case TimeoutException e -> unknown(address, "no answer within " + timeout.toSeconds() + " s");
            default ->
                unknown(
                        address,
                        "no answer: "
                                + Objects.requireNonNullElse(
                                        failure.getMessage(), failure.getClass().getSimpleName()));
        };
    }

    private static PeerReply unknown(String address, String why) {
        return new PeerReply(address, 0, "", why, false);
    }

    /** Whether the gateway has done what it was asked. */
    boolean isOk() {
        return status >= 200 && status < 300;
    }

    /** Whether the gateway was this one, at an address that was not known to be its own. */
    boolean isSelf() {
        return status == STATUS_LOOP;
    }

    /** The reason why the gateway has not done what it was asked; null: it has. */
    @Nullable
    String problem() {
        if (failure != null) {
            return failure;
        }
        return isOk() ? null : "status " + status + detail();
    }

    private String detail() {
        try {
            JsonNode detail = JsonMapper.shared().readTree(body).path("detail");
            return detail.isString()
                    ? ": "
                            + detail.asString()
                                    .substring(
                                            0,
                                            Math.min(
                                                    MAX_DETAIL,
                                                    detail.asString().length()))
                    : "";
        } catch (JacksonException e) {
            return "";
        }
    }
}
