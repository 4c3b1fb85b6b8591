package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.health.BackendFailure;
import io.weir.limit.Limit.Evidence;
import io.weir.outcome.Reason;
import io.weir.retry.PushbackField;
import org.jspecify.annotations.Nullable;

/**
 * The evidence of one attempt: each outcome is reported to the health of the backend, to the sample of its
 * limit, and, for the time of an answer, to its route. The limit gets no evidence from an answer or a failure
 * during which the gateway itself has paused, nor from a time-out that this has disturbed.
 *
 * <p>All times are the backend's own, without that of the caller. Concurrency: confined to the exchange's
 * event loop.
 */
final class AttemptEvidence {

    private final ExchangeContext exchange;
    private final Backend backend;
    private final HealthEvidence health;
    private final Permits permits;
    /** What the answer says about the backend's limit. */
    private Evidence answer = Evidence.ANSWERED;

    AttemptEvidence(ExchangeContext exchange, HealthEvidence health, Permits permits) {
        this.exchange = exchange;
        this.backend = exchange.record().backend();
        this.health = health;
        this.permits = permits;
    }

    /** The evidence for the backend's health. */
    HealthEvidence health() {
        return health;
    }

    /** What the answer says about the backend's limit; nothing after a pause of the gateway. */
    Evidence answer(long now) {
        return undisturbed(answer, now);
    }

    // ---------------------------------------------------------------- answers

    /** The final head of an answer has arrived. */
    void answered(int status, long now) {
        ExchangeTrace trace = exchange.record().trace();
        if (trace != null) {
            trace.answered(status);
        }
        health.answered(now);
    }

    /**
     * The final head of an answer has arrived, and is judged.
     *
     * @return the failure that it shows; null: none
     */
    @Nullable
    BackendFailure answered(int status, HttpHeaders headers, long now) {
        answered(status, now);
        answer = BackendFailures.signOfLoad(backend, status, headers);
        reportPushback(headers, now);
        return BackendFailures.ofHead(backend, status, headers);
    }

    /**
     * The attempt has an outcome.
     *
     * @param failure the backend's failure; null: it answered as expected
     */
    void report(@Nullable BackendFailure failure, long backendNanos, long now) {
        if (failure == null) {
            if (answer == Evidence.ANSWERED) {
                health.answeredWell();
            }
            health.succeeded(backendNanos, now);
        } else if (answer != Evidence.ANSWERED) {
            health.refused(backendNanos, failure, answer, now);
        } else {
            health.failed(backendNanos, failure, now);
        }
    }

    /** The backend asks to be left alone, if the answer is a sign of overload that names a time. */
    private void reportPushback(HttpHeaders fields, long now) {
        if (answer == Evidence.SHED || answer == Evidence.QUOTA) {
            health.pushedBack(PushbackField.nanos(fields), answer == Evidence.QUOTA, now);
        }
    }

    /** The answer is complete. */
    void completed(HttpHeaders trailers, long backendNanos, long now) {
        Evidence sign = trailers.isEmpty() ? Evidence.ANSWERED : BackendFailures.ofGrpcPushback(backend, trailers);
        if (sign != Evidence.ANSWERED) {
            answer = sign;
            reportPushback(trailers, now);
        }
        BackendFailure failure = BackendFailures.ofGrpcStatus(backend, trailers);
        report(failure, backendNanos, now);
        ExchangeRecord record = exchange.record();
        // Errors are often faster than answers, and streams end when either side wants.
        boolean isUsual =
                failure == null && !backend.settings().failureStatuses().get(record.status());
        if (isUsual && !exchange.isStream() && !record.fellBack()) {
            record.route().usualTime().record(backendNanos, now);
        }
    }

    /** The backend has answered; its answer is a sample for its limit. */
    void markAnswered(long now) {
        permits.markSample(answer(now));
    }

    // ---------------------------------------------------------------- failures

    /** The attempt has failed for this reason. */
    void failed(Reason reason, long backendNanos, long now) {
        BackendFailure failure = BackendFailures.of(reason);
        if (reason != Reason.DEADLINE_EXCEEDED) {
            permits.markUnanswered(undisturbed(Evidence.UNAVAILABLE, now));
        }
        if (reason == Reason.DEADLINE_EXCEEDED || reason == Reason.CONNECT_TIMEOUT) {
            health.timedOut(backendNanos, failure, now);
        } else {
            health.failed(backendNanos, failure, now);
        }
    }

    /** The backend has let the time of a call pass: a sample for its limit. */
    void markTimedOut(long backendNanos, long now) {
        permits.markSample(health.isDisturbed(backendNanos, now) ? Evidence.NONE : Evidence.TIMED_OUT);
    }

    /** The deadline has passed while the gateway waited for the backend. */
    void deadlinePassed(long backendNanos, long now) {
        if (isBackendAtFault(backendNanos)) {
            markTimedOut(backendNanos, now);
        }
        health.missedDeadline(backendNanos, exchange.timer().deadline(), routeDeadlineNanos(), now);
    }

    /** Whether the backend would be at fault if the deadline passed now. */
    boolean isBackendAtFault(long backendNanos) {
        return HealthEvidence.isBackendAtFault(backendNanos, exchange.timer().deadline(), routeDeadlineNanos());
    }

    private long routeDeadlineNanos() {
        return exchange.record().route().deadlineNanos();
    }

    private Evidence undisturbed(Evidence end, long now) {
        return health.sawPause(now) ? Evidence.NONE : end;
    }
}
