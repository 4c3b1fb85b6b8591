package io.weir.edge;

import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.PrematureChannelClosureException;
import io.netty.handler.codec.http2.Http2Exception;
import io.weir.outcome.ThrottledLog;
import java.io.IOException;
import reactor.netty.Connection;
import reactor.netty.ConnectionObserver;
import reactor.netty.channel.AbortedException;

/**
 * Logs the errors of callers' connections that no subscriber receives. Reactor Netty would log each of them
 * with a stack trace. A caller's fault, such as a malformed body or a broken connection, is one line at
 * debug: the guards have reported and counted it. Any other error is a defect of the gateway.
 */
final class UncaughtErrors implements ConnectionObserver {

    private static final ThrottledLog log = ThrottledLog.of(UncaughtErrors.class);

    @Override
    public void onStateChange(Connection connection, State newState) {}

    @Override
    public void onUncaughtException(Connection connection, Throwable error) {
        if (!isCallersFault(error)) {
            long now = connection.channel().eventLoop().ticker().nanoTime();
            log.error(now, "Error on connection " + connection.channel(), error);
        } else if (log.isDebugEnabled()) {
            log.debug("{}: {}", connection.channel(), error.toString());
        }
    }

    static boolean isCallersFault(Throwable error) {
        return error instanceof DecoderException
                || error instanceof PrematureChannelClosureException
                || error instanceof Http2Exception
                || error instanceof IOException
                || error instanceof AbortedException;
    }
}
