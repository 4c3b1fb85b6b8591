package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ScheduledFuture;
import io.weir.outcome.Reason;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One caller's connection: who guards it, and its one timer.
 *
 * <p>The timer is lazy: to put its moment off, or to do without it, is to write a field; what was scheduled runs, finds that it came too
 * early, and is scheduled again for the rest. So a connection that is kept busy costs a task per keep-alive timeout, and no request costs any.
 *
 * <p>Concurrency: confined to the connection's event loop, but for {@link #drain()}.
 */
@SuppressWarnings("FutureReturnValueIgnored") // What becomes of a write or a close, the channel tells.
final class CallerConnection implements Runnable {

    /** What holds a connection to the rules of the protocol that it speaks. On the connection's event loop. */
    interface Guard {

        /** The moment of {@link #expireIn} has come. */
        void expired();

        /** The gateway is on its way out. */
        void drain();
    }

    private final Channel channel;
    private final EdgeRules rules;
    private final @Nullable SocketAddress remote;
    private final long openedAt;

    private @Nullable Guard guard;
    private boolean armed;
    private long dueAt;
    private @Nullable ScheduledFuture<?> task;
    private long taskAt;

    CallerConnection(Channel channel, EdgeRules rules) {
        this.channel = channel;
        this.rules = rules;
        this.remote = channel.remoteAddress();
        this.openedAt = now();
    }

    /** From now on, somebody else holds it to the rules; what was armed stays armed. */
    void guardedBy(Guard next) {
        guard = next;
    }

    @Nullable
    Guard guard() {
        return guard;
    }

    EdgeRules rules() {
        return rules;
    }

    long openedAt() {
        return openedAt;
    }

    /** Now, on the event loop's clock. */
    long now() {
        return channel.eventLoop().ticker().nanoTime();
    }

    void expireIn(long nanos) {
        expireAt(now() + nanos);
    }

    void expireAt(long moment) {
        armed = true;
        dueAt = moment;
        ScheduledFuture<?> scheduled = task;
        if (scheduled != null) {
            if (taskAt - moment <= 0) {
                return;
            }
            scheduled.cancel(false);
        }
        schedule(moment);
    }

    void expireNever() {
        armed = false;
    }

    @Override
    public void run() {
        task = null;
        if (!armed) {
            return;
        }
        if (dueAt - now() > 0) {
            schedule(dueAt);
            return;
        }
        armed = false;
        Guard current = guard;
        if (current == null) {
            // TLS has not been agreed on yet.
            channel.close();
        } else {
            current.expired();
        }
    }

    /** The gateway is on its way out. From any thread. */
    void drain() {
        channel.eventLoop().execute(() -> {
            Guard current = guard;
            if (current != null) {
                current.drain();
            }
        });
    }

    void refused(Reason reason, @Nullable String method, @Nullable String target, long nanos) {
        rules.listener().refused(reason, method, target, remote, nanos);
    }

    /** The connection is closed; it must not be held by what was scheduled. */
    void closed() {
        armed = false;
        Future<?> scheduled = task;
        if (scheduled != null) {
            task = null;
            scheduled.cancel(false);
        }
    }

    private void schedule(long moment) {
        taskAt = moment;
        task = channel.eventLoop().schedule(this, Math.max(0, moment - now()), TimeUnit.NANOSECONDS);
    }
}
