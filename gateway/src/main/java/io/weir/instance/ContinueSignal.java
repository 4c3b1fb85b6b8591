package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * Waits for a backend's {@code 100 Continue}, which Reactor Netty's client does not report.
 *
 * <p>A final answer ends the wait without a signal: the body is not sent. Backends that ignore {@code Expect}
 * wait for the body, so the wait ends after a second; curl waits as long.
 *
 * <p>Concurrency: confined to the event loop of the backend's connection, except the subscription to {@link
 * #received()}.
 */
public final class ContinueSignal extends ChannelInboundHandlerAdapter {

    private static final long MAX_WAIT_MILLIS = 1_000;

    private final Sinks.Empty<Void> received = Sinks.empty();
    private @Nullable ScheduledFuture<?> limit;

    private ContinueSignal() {}

    /** Installs a signal for the request that is about to be written, on the connection's event loop. */
    public static ContinueSignal await(Channel connection) {
        ContinueSignal signal = new ContinueSignal();
        connection.pipeline().addBefore(Pool.INFORMATIONAL_FILTER, null, signal);
        signal.limit =
                connection.eventLoop().schedule(signal.received::tryEmitEmpty, MAX_WAIT_MILLIS, TimeUnit.MILLISECONDS);
        return signal;
    }

    /** Completes when the body may be sent; never if the backend has answered before. */
    public Mono<Void> received() {
        return received.asMono();
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof HttpResponse response) {
            if (HttpResponseStatus.CONTINUE.equals(response.status())) {
                end(context);
                received.tryEmitEmpty();
            } else if (response.status().code() >= HttpResponseStatus.OK.code()) {
                end(context);
            }
        }
        context.fireChannelRead(message);
    }

    private void end(ChannelHandlerContext context) {
        context.pipeline().remove(this);
        stopWaiting();
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        stopWaiting();
        context.fireChannelInactive();
    }

    private void stopWaiting() {
        ScheduledFuture<?> running = limit;
        if (running != null) {
            running.cancel(false);
        }
    }
}
