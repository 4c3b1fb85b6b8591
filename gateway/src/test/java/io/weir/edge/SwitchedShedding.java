package io.weir.edge;

import io.netty.channel.EventLoop;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/** Refuses every request, and lets every handshake wait, while it is switched on. */
final class SwitchedShedding implements EdgeShedding {

    static final Refusal OVERLOADED = new Refusal(Reason.GATEWAY_OVERLOADED, null, 1_234);

    volatile boolean isOn;
    final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();

    @Override
    public @Nullable Refusal refusal(EventLoop loop) {
        return isOn ? OVERLOADED : null;
    }

    @Override
    public boolean isShedding() {
        return isOn;
    }

    @Override
    public boolean takeTurn(EventLoop loop, Runnable task) {
        if (isOn) {
            waiting.add(task);
        }
        return !isOn;
    }

    @Override
    public void leaveTurns(EventLoop loop, Runnable task) {
        waiting.remove(task);
    }
}
