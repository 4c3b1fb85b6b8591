package io.weir.instance;

import io.netty.channel.ChannelException;
import io.netty.channel.ConnectTimeoutException;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.http.websocketx.WebSocketHandshakeException;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.ssl.SslHandshakeTimeoutException;
import io.weir.outcome.Reason;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import reactor.netty.Connection;
import reactor.netty.channel.AbortedException;
import reactor.netty.internal.shaded.reactor.pool.PoolAcquirePendingLimitException;
import reactor.netty.internal.shaded.reactor.pool.PoolAcquireTimeoutException;

/**
 * Maps the exception of a failed attempt to a {@link Reason}, and decides whether the backend or the gateway
 * has failed.
 */
public final class Failures {

    /**
     * The errors of the operating system (EMFILE, ENFILE, EADDRNOTAVAIL, ENOBUFS, ENOMEM) for which the
     * gateway gets no socket. NIO and Netty's native transports have no common type for them, only the text.
     */
    private static final List<String> SHORTAGES = List.of(
            "Too many open files",
            "Cannot assign requested address",
            "No buffer space available",
            "Cannot allocate memory");

    /** The text of Reactor Netty's failure, which has no type of its own. */
    private static final String NO_STREAM = "Max active streams is reached";

    private static final int MAX_CAUSES = 8;
    private static final String SHORTAGE = "the gateway is short of files, ports or memory: ";

    private Failures() {}

    /**
     * The reason for a failed attempt.
     *
     * @param connected whether the attempt had a connection, so that the request may have been sent
     */
    public static Reason reason(Throwable failure, boolean connected) {
        if (isPoolRefusal(failure)) {
            return Reason.BULKHEAD_FULL;
        }
        if (shortage(failure) != null) {
            return Reason.GATEWAY_OVERLOADED;
        }
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

    /**
     * Whether the failure is the gateway's own: its pool had no free connection, its machine no file, port or
     * memory for another one, or no address of the backend is known. Such a failure is no evidence about the
     * backend.
     */
    public static boolean isLocal(Throwable failure) {
        return isPoolRefusal(failure) || shortage(failure) != null || failure instanceof NoAddressException;
    }

    /**
     * Whether the failure proves that the backend has received or processed nothing of the request: it
     * refused the connection or the stream, or a connection of the pool was closed before the head was
     * written.
     */
    public static boolean isUnsent(Throwable failure) {
        if (failure instanceof RefusedStream.Failure || isWithoutStream(failure)) {
            return true;
        }
        if (failure instanceof AbortedException) {
            return AbortedException.isConnectionReset(failure);
        }
        return failure instanceof ConnectException
                && !(failure instanceof ConnectTimeoutException)
                && shortage(failure) == null;
    }

    /**
     * The failure of an attempt as it is judged: the refusal of its HTTP/2 stream, or else the exception.
     *
     * @param connection the attempt's connection; null: none is established
     */
    public static Throwable judged(Throwable failure, @Nullable Connection connection) {
        RefusedStream.Failure refused = connection == null ? null : RefusedStream.of(connection.channel());
        return refused == null ? failure : refused;
    }

    /**
     * Whether the backend has ended the connection in order, which is no evidence against it: other
     * connections serve the request.
     */
    public static boolean isOrderly(Throwable failure) {
        return isWithoutStream(failure) || (failure instanceof RefusedStream.Failure refused && refused.isByGoAway());
    }

    /** A GOAWAY arrived, or the last stream was taken, after the pool had chosen the connection. */
    private static boolean isWithoutStream(Throwable failure) {
        String message = failure.getMessage();
        return failure instanceof IOException && message != null && message.contains(NO_STREAM);
    }

    /** Thrown for a request that would wait for a connection, or has waited too long. */
    private static boolean isPoolRefusal(Throwable failure) {
        return failure instanceof PoolAcquirePendingLimitException || failure instanceof PoolAcquireTimeoutException;
    }

    /** The error of the operating system; null: the failure is another one. */
    private static @Nullable String shortage(Throwable failure) {
        Throwable cause = failure;
        for (int depth = 0; cause != null && depth < MAX_CAUSES; depth++) {
            String message = cause.getMessage();
            if (message != null && (cause instanceof IOException || cause instanceof ChannelException)) {
                for (String shortage : SHORTAGES) {
                    if (message.contains(shortage)) {
                        return shortage;
                    }
                }
            }
            cause = cause.getCause();
        }
        return null;
    }

    /** One line for the problem and the log: the exception's message, or its class name if it has none. */
    public static String describe(Throwable failure) {
        String shortage = shortage(failure);
        if (shortage != null) {
            return SHORTAGE + shortage;
        }
        if (isPoolRefusal(failure)) {
            return "no connection to the backend is free";
        }
        if (failure instanceof NoAddressException) {
            return "no address is known";
        }
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
