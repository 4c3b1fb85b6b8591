package io.weir.engine;

import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.outcome.Reason;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * The gateway reads the request's body ahead, before the exchange asks for a permit: a slow caller holds no
 * permit of a backend. The phase ends when the body is complete, or when {@code weir.edge.read-ahead} bytes
 * of it are read.
 *
 * <p>The phase owns the reading, and the admission that follows. The bytes themselves are in the
 * {@link RequestBody}, which outlives the phase.
 *
 * <p>All methods are called on the exchange's event loop, except those for the {@link ReadAheadBudget}.
 */
final class ReadingAhead implements ExchangePhase {

    /** The duration from which an upload counts as slow, so that it may be ended for others. */
    static final long SLOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final String CHOSEN =
            "ended as the slowest upload, since all uploads together exceed read-ahead-total";
    private static final AtomicIntegerFieldUpdater<ReadingAhead> CHOSEN_FLAG =
            AtomicIntegerFieldUpdater.newUpdater(ReadingAhead.class, "chosen");

    private final ExchangeContext exchange;
    private final Admission admission;
    private final RequestBody body;
    private final long startedAt;
    private boolean isStarting = true;
    private boolean isFinished;
    private boolean isCandidate;
    private @Nullable Throwable failure;
    private volatile int chosen;

    ReadingAhead(ExchangeContext exchange, Admission admission, RequestBody body, long now) {
        this.exchange = exchange;
        this.admission = admission;
        this.body = body;
        this.startedAt = now;
    }

    /**
     * Whether the body of a request is read ahead. It is not for a stream or gRPC, whose caller may wait for
     * an answer before it sends more. A caller that waits for {@code 100 Continue} gets it as soon as the
     * gateway reads. If the bulkhead is full, such a request asks for its permit first, so that the caller
     * gets the refusal without sending the body.
     */
    static boolean appliesTo(ExchangeContext exchange, RequestBody body, Admission admission) {
        return !body.isReadAhead()
                && !body.isConversation()
                && !(exchange.record().caller().expectsContinue() && admission.isBulkheadFull());
    }

    /** The admission that follows. */
    Admission admission() {
        return admission;
    }

    /** Starts to read. */
    Decision begin() {
        body.readAhead(this);
        isStarting = false;
        Throwable failed = failure;
        if (failed != null) {
            return refuse(failed);
        }
        return isFinished ? Step.REQUEST_PERMIT : Step.WAIT;
    }

    /** Enough of the body is read. */
    void finished() {
        isFinished = true;
        if (!isStarting) {
            exchange.apply(Step.REQUEST_PERMIT);
        }
    }

    /** The body is too large, or the caller broke off. */
    void failed(Throwable why) {
        failure = why;
        if (!isStarting) {
            exchange.apply(refuse(why));
        }
    }

    private Decision refuse(Throwable why) {
        if (why instanceof Relay.TooLarge) {
            return new Refuse(Reason.PAYLOAD_TOO_LARGE, why.getMessage());
        }
        exchange.leave();
        return Step.WAIT;
    }

    // ---------------------------------------------------------------- time

    @Override
    public long dueNanos(long now) {
        long due = Math.min(body.idleLeftNanos(now), body.rateLeftNanos(now));
        return isCandidate ? due : Math.min(due, startedAt + SLOW_NANOS - now);
    }

    @Override
    public Decision check(long now) {
        if (body.idleLeftNanos(now) <= 0) {
            return Refuse.UPLOAD_IDLE;
        }
        if (body.rateLeftNanos(now) <= 0) {
            return Refuse.BELOW_MINIMUM_RATE;
        }
        if (!isCandidate && now - startedAt >= SLOW_NANOS) {
            isCandidate = true;
            exchange.engine().readAhead().addCandidate(this);
        }
        return Step.WAIT;
    }

    @Override
    public Reason expiryReason(long now) {
        return Reason.CLIENT_TOO_SLOW;
    }

    @Override
    public Decision expire(long now) {
        return Refuse.UPLOAD_TOO_SLOW;
    }

    @Override
    public void release(@Nullable Reason why, long now) {
        body.stopReadingAhead();
        if (isCandidate) {
            exchange.engine().readAhead().removeCandidate(this);
        }
    }

    // ---------------------------------------------------------------- for the budget, from any thread

    /** Bytes that are read ahead. */
    long heldBytes() {
        return body.heldBytes();
    }

    double bytesPerSecond(long now) {
        return body.receivedBytes() * 1e9 / Math.max(1, now - startedAt);
    }

    /** Whether the upload is chosen to end, to free memory for others. */
    boolean isChosen() {
        return chosen != 0;
    }

    /**
     * Ends the upload, to free memory for others. False: another thread has done that, or the event loop has
     * stopped.
     */
    boolean choose() {
        if (!CHOSEN_FLAG.compareAndSet(this, 0, 1)) {
            return false;
        }
        try {
            exchange.loop().execute(() -> exchange.resume(this, () -> new Refuse(Reason.CLIENT_TOO_SLOW, CHOSEN)));
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }
}
