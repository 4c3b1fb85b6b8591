package io.weir.engine;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ScheduledFuture;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.Waiter;
import io.weir.outcome.Reason;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Counts whether a bulkhead that is not enforced would refuse a call. The call proceeds at once; its dry run
 * requests a permit of a second bulkhead, where it waits and is refused like a real call.
 *
 * <p>Confined to the exchange's event loop, except {@link #evicted()} and {@link #granted()}. The latter
 * does nothing: {@link #leave()} later tells whether a permit was granted.
 */
final class BulkheadDryRun extends Waiter {

    private final QueueingBulkhead bulkhead;
    private final BackendObserver observer;
    private final QueueRank rank;
    private @Nullable ScheduledFuture<?> queueTimeout;
    private boolean holdsPermit;
    private boolean isQueued;

    private BulkheadDryRun(QueueingBulkhead bulkhead, BackendObserver observer, QueueRank rank) {
        this.bulkhead = bulkhead;
        this.observer = observer;
        this.rank = rank;
    }

    /**
     * Starts the dry run of a call; {@link #end} must follow exactly once.
     *
     * @param rank the call's class and tenant
     */
    static BulkheadDryRun begin(QueueingBulkhead bulkhead, Backend backend, EventLoop loop, QueueRank rank) {
        BulkheadDryRun dryRun = new BulkheadDryRun(bulkhead, backend.observer(), rank);
        dryRun.request(backend.settings().maxWaitNanos(), loop);
        return dryRun;
    }

    private void request(long maxWaitNanos, EventLoop loop) {
        if (bulkhead.tryAcquire()) {
            holdsPermit = true;
            return;
        }
        rank.determine();
        switch (maxWaitNanos <= 0 ? QueueingBulkhead.Entry.FULL : bulkhead.enter(this)) {
            case GRANTED -> holdsPermit = true;
            case FULL -> observer.wouldRefuse(Reason.BULKHEAD_FULL);
            case QUEUED -> {
                isQueued = true;
                queueTimeout = loop.schedule(this::timeOut, maxWaitNanos, TimeUnit.NANOSECONDS);
            }
        }
    }

    private void timeOut() {
        queueTimeout = null;
        if (isQueued && expire()) {
            isQueued = false;
            if (!isEvicted()) {
                observer.wouldRefuse(Reason.QUEUE_TIMEOUT);
            }
        }
    }

    @Override
    protected Priority priority() {
        return rank.priority();
    }

    @Override
    protected boolean isGuaranteed() {
        return rank.isGuaranteed();
    }

    @Override
    protected @Nullable String tenant() {
        return rank.tenant();
    }

    @Override
    protected void granted() {}

    @Override
    protected void evicted() {
        observer.wouldRefuse(Reason.QUEUE_EVICTED);
    }

    /** The call has ended. */
    void end() {
        ScheduledFuture<?> pending = queueTimeout;
        if (pending != null) {
            queueTimeout = null;
            pending.cancel(false);
        }
        if (holdsPermit || (isQueued && !leave())) {
            bulkhead.release();
        }
        holdsPermit = false;
        isQueued = false;
    }
}
