package io.weir.instance;

import io.netty.channel.ConnectTimeoutException;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.http.websocketx.WebSocketHandshakeException;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.ssl.SslHandshakeTimeoutException;
import io.weir.outcome.Reason;
import java.io.IOException;
import java.net.UnknownHostException;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;
import reactor.netty.channel.AbortedException;

/** Maps the exception of a failed attempt to a {@link Reason}. */
public final class Failures {

    private Failures() {}

    /**
     * The reason for a failed attempt.
     *
     * @param connected whether the attempt had a connection, so that the request may have been sent
     */
    public static Reason reason(Throwable failure, boolean connected) {
        if (connected) {
            return isNetwork(failure) ? Reason.CONNECTION_LOST : Reason.INTERNAL_ERROR;
        }
        if (failure instanceof ConnectTimeoutException
                || failure instanceof SslHandshakeTimeoutException
                || failure instanceof TimeoutException) {
            return Reason.CONNECT_TIMEOUT;
        }
        return isNetwork(failure) ? Reason.CONNECT_FAILED : Reason.INTERNAL_ERROR;
    }

    /** One line for the problem and the log: the exception's message, or its class name if it has none. */
    public static String describe(Throwable failure) {
        if (failure instanceof UnknownHostException) {
            return "unknown host";
        }
        if (failure instanceof SSLException) {
            return "TLS: " + failure.getMessage();
        }
        String message = failure.getMessage();
        return message == null ? failure.getClass().getSimpleName() : message;
    }

    private static boolean isNetwork(Throwable failure) {
        return failure instanceof IOException
                || failure instanceof CodecException
                || failure instanceof Http2Exception
                || failure instanceof WebSocketHandshakeException
                // Reactor Netty throws it for a connection that was closed in the meantime.
                || failure instanceof AbortedException
                || failure instanceof IllegalArgumentException;
    }
}
