package io.weir.engine;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ScheduledFuture;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What would have become of a call if the bulkhead refused: it is let through at once, and asks a bulkhead for a permit all the same, in
 * which it waits and is refused like any other, without anybody noticing but a counter.
 *
 * <p>Confined to the exchange's event loop, but for {@link #granted()}, which changes nothing here: who leaves learns by that whether
 * there is a permit to give back.
 */
final class BulkheadTrial extends QueueingBulkhead.Waiter {

    private final QueueingBulkhead bulkhead;
    private final BackendObserver observer;
    private @Nullable ScheduledFuture<?> timer;
    private boolean holds;
    private boolean waits;

    private BulkheadTrial(QueueingBulkhead bulkhead, BackendObserver observer) {
        this.bulkhead = bulkhead;
        this.observer = observer;
    }

    /** A call begins; {@link #end} must follow exactly once. */
    static BulkheadTrial begin(QueueingBulkhead bulkhead, Backend backend, EventLoop loop) {
        BulkheadTrial trial = new BulkheadTrial(bulkhead, backend.observer());
        trial.begin(backend.settings().maxWaitNanos(), loop);
        return trial;
    }

    private void begin(long maxWaitNanos, EventLoop loop) {
        if (bulkhead.tryAcquire()) {
            holds = true;
            return;
        }
        switch (maxWaitNanos <= 0 ? QueueingBulkhead.Entry.FULL : bulkhead.enter(this)) {
            case GRANTED -> holds = true;
            case FULL -> observer.wouldRefuse(Reason.BULKHEAD_FULL);
            case QUEUED -> {
                waits = true;
                timer = loop.schedule(this::waitedEnough, maxWaitNanos, TimeUnit.NANOSECONDS);
            }
        }
    }

    private void waitedEnough() {
        timer = null;
        if (waits && leave()) {
            waits = false;
            observer.wouldRefuse(Reason.QUEUE_TIMEOUT);
        }
    }

    @Override
    protected void granted() {}

    /** The call is over. */
    void end() {
        ScheduledFuture<?> running = timer;
        if (running != null) {
            timer = null;
            running.cancel(false);
        }
        if (holds || (waits && !leave())) {
            bulkhead.release();
        }
        holds = false;
        waits = false;
    }
}
