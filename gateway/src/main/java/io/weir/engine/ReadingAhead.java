package io.weir.engine;

import io.weir.body.Relay;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.outcome.Reason;
import io.weir.slowcaller.ReadAheadBudget;
import io.weir.slowcaller.SlowUpload;
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
final class ReadingAhead extends SlowUpload implements ExchangePhase {

    private static final String CHOSEN =
            "ended as the slowest upload, since all uploads together exceed read-ahead-total";

    private final ExchangeContext exchange;
    private final Admission admission;
    private final RequestBody body;
    private final long startedAt;
    private boolean isStarting = true;
    private boolean isFinished;
    private boolean isCandidate;
    private @Nullable Throwable failure;

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
                && !(exchange.record().caller().received().expectsContinue() && admission.isBulkheadFull());
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
        return isCandidate ? due : Math.min(due, startedAt + ReadAheadBudget.SLOW_NANOS - now);
    }

    @Override
    public Decision check(long now) {
        if (body.idleLeftNanos(now) <= 0) {
            return Refuse.UPLOAD_IDLE;
        }
        if (body.rateLeftNanos(now) <= 0) {
            return Refuse.BELOW_MINIMUM_RATE;
        }
        if (!isCandidate && now - startedAt >= ReadAheadBudget.SLOW_NANOS) {
            isCandidate = true;
            exchange.resources().readAhead().addCandidate(this);
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
            exchange.resources().readAhead().removeCandidate(this);
        }
    }

    // ---------------------------------------------------------------- for the budget, from any thread

    @Override
    protected long heldBytes() {
        return body.heldBytes();
    }

    @Override
    public double bytesPerSecond(long now) {
        return body.receivedBytes() * 1e9 / Math.max(1, now - startedAt);
    }

    @Override
    protected boolean choose() {
        return choose(exchange.loop(), () -> exchange.resume(this, () -> new Refuse(Reason.CLIENT_TOO_SLOW, CHOSEN)));
    }
}
