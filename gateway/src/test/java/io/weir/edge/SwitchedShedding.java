package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/** Refuses every request, and lets every handshake wait, while it is switched on. */
final class SwitchedShedding implements EdgeShedding {

    static final Refusal OVERLOADED = new Refusal(Reason.GATEWAY_OVERLOADED, null, 1_234);

    volatile boolean isOn;
    final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();
    private final Map<Runnable, EventLoop> loops = new ConcurrentHashMap<>();

    @Override
    public @Nullable Refusal refusal(Channel connection, HttpHeaders headers) {
        return isOn ? OVERLOADED : null;
    }

    @Override
    public @Nullable Refusal refusal(Channel connection, Http2Headers headers) {
        return isOn ? OVERLOADED : null;
    }

    @Override
    public boolean isShedding() {
        return isOn;
    }

    @Override
    public boolean takeTurn(EventLoop loop, Runnable task) {
        if (isOn) {
            loops.put(task, loop);
            waiting.add(task);
        }
        return !isOn;
    }

    /** Lets all waiting tasks run, each on its event loop. */
    void runWaiting() {
        for (Runnable task = waiting.poll(); task != null; task = waiting.poll()) {
            Objects.requireNonNull(loops.remove(task)).execute(task);
        }
    }

    @Override
    public void leaveTurns(EventLoop loop, Runnable task) {
        waiting.remove(task);
    }
}
