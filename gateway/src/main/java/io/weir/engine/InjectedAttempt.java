package io.weir.engine;

import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.faults.ActiveFaults;
import io.weir.faults.FaultType;
import io.weir.faults.InjectedFault;
import io.weir.outcome.Reason;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * An attempt with an injected fault that begins before the request is sent: {@code latency}, {@code abort},
 * {@code hang} or {@code reset}. To the deadline, the breaker, the limit and the retries it looks as if a
 * backend had received the request. It holds nothing but the admission of its exchange.
 *
 * <p>After its latency, the attempt hands admission and evidence to a real one, which counts its time from
 * the start of this one. An attempt that hangs does so until its deadline, whether its fault is still active
 * or not: a backend that has lost a request does not find it again.
 */
final class InjectedAttempt extends Attempt {

    private final InjectedFault fault;
    private final AttemptFactory real;

    private InjectedAttempt(
            InjectedFault fault,
            AttemptFactory real,
            ExchangeContext exchange,
            Admission admission,
            HealthEvidence evidence,
            long now) {
        super(exchange, admission, evidence, now);
        this.fault = fault;
        this.real = real;
    }

    /**
     * The attempt of an exchange, with the fault that it gets.
     *
     * @param real creates an attempt without a fault
     */
    static Attempt create(
            ActiveFaults active,
            AttemptFactory real,
            ExchangeContext exchange,
            Admission admission,
            HealthEvidence evidence,
            long now) {
        InjectedFault fault = choose(active, exchange, admission, now);
        if (fault == null) {
            return real.create(exchange, admission, evidence, now);
        }
        ExchangeRecord record = exchange.record();
        record.fault = fault;
        record.backend().observer().faultInjected(fault.type());
        return fault.type() == FaultType.TRUNCATE
                ? new TruncatedAttempt(fault, exchange, admission, evidence, now)
                : new InjectedAttempt(fault, real, exchange, admission, evidence, now);
    }

    private static @Nullable InjectedFault choose(
            ActiveFaults active, ExchangeContext exchange, Admission admission, long now) {
        ExchangeRecord record = exchange.record();
        return active.choose(
                record.fellBack() ? null : record.route().id(),
                record.backend().name(),
                admission.entry().instance().shownAddress(),
                record.caller().received().headers(),
                exchange.isWebSocket(),
                now);
    }

    /** Reports the attempt to the trace, as a real attempt does when it sends the request. */
    @Override
    public void start() {
        String _ = target();
    }

    @Override
    Decision begin() {
        Decision begun = super.begin();
        if (begun != Step.WAIT) {
            return begun;
        }
        return switch (fault.type()) {
            case ABORT -> answeredInstead(fault.order().status(), new Refuse(Reason.FAULT_INJECTED, fault.label()));
            case RESET -> fail(new IOException("connection reset by " + fault.label()));
            case LATENCY, HANG -> Step.WAIT;
            case TRUNCATE -> throw new IllegalStateException("fault: truncate (expected: one before the request)");
        };
    }

    /** The real attempt, once the latency is over. */
    Attempt send(long now) {
        Attempt sent = real.create(exchange, admission(), evidence(), startedAt());
        sent.takeOver(this, now);
        return sent;
    }

    private long latencyLeftNanos(long now) {
        Duration latency = fault.order().latency();
        return latency == null ? NEVER : startedAt() + latency.toNanos() - now;
    }

    @Override
    public long dueNanos(long now) {
        return Math.min(super.dueNanos(now), latencyLeftNanos(now));
    }

    @Override
    public Decision check(long now) {
        boolean wasBesideAnother = isBesideAnother();
        Decision decision = super.check(now);
        // If a hedge has begun in this check, it checks this attempt again.
        return decision == Step.WAIT && latencyLeftNanos(now) <= 0 && wasBesideAnother == isBesideAnother()
                ? Step.SEND
                : decision;
    }

    /** Nothing to cancel: the exchange's timer is the only one. */
    @Override
    public void cancel() {}

    @Override
    public boolean isConnected() {
        return true;
    }

    /** The request counts as sent. */
    @Override
    public boolean withdraw() {
        return false;
    }

    @Override
    public long callerNanos(long now) {
        return 0;
    }

    @Override
    public boolean isWaitingForUpload() {
        return false;
    }

    @Override
    public long lastMovedNanos() {
        return Long.MIN_VALUE;
    }

    @Override
    public long answerBytes() {
        return 0;
    }

    @Override
    public boolean isHeldUpByCaller() {
        return false;
    }
}
