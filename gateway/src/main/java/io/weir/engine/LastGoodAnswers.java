package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.body.CopiedBody;
import io.weir.engine.Decision.Answer;
import io.weir.engine.Decision.Refuse;
import io.weir.faults.InjectedFault;
import io.weir.lastgood.LastGood;
import io.weir.lastgood.LastGoodRecording;
import io.weir.lastgood.LastGoodReply;
import io.weir.lastgood.LastGoodRequest;
import io.weir.outcome.Reason;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.netty.http.client.HttpClientResponse;

/**
 * Records the good answers of a route, and finds the one that replaces a failure. Called on the exchange's
 * event loop.
 */
final class LastGoodAnswers {

    /** The first status that says that the backend has failed. */
    private static final int FIRST_FAILURE = 500;

    /** Stands for the {@code Host} of the instance, of which there is none without an attempt. */
    private static final String NO_INSTANCE = "";

    private LastGoodAnswers() {}

    // ---------------------------------------------------------------- recording

    /**
     * Records an answer while it is passed on; null: it is not kept.
     *
     * @param instanceHost the {@code Host} of the instance that answers
     * @param trailers the answer's, once its body is complete
     */
    static CopiedBody.@Nullable Listener recorder(
            ExchangeContext exchange, HttpClientResponse answer, String instanceHost, Supplier<HttpHeaders> trailers) {
        ExchangeRecord record = exchange.record();
        LastGood lastGood = record.route().lastGood();
        Caller caller = record.caller();
        if (lastGood == null
                // The answer of a fallback's backend is not the route's.
                || record.fellBack()
                || exchange.isStream()
                || !LastGood.covers(caller.method(), caller.hasBody())) {
            return null;
        }
        LastGoodRequest request = new LastGoodRequest(
                caller.method(), caller.target(), caller.headers(), answer.requestHeaders(), instanceHost);
        LastGoodRecording recording = lastGood.record(request, answer.status().code(), answer.responseHeaders());
        if (recording == null) {
            return null;
        } else if (recording.isWhole()) {
            recording.complete();
            return null;
        }
        return new Recorder(recording, trailers);
    }

    private record Recorder(LastGoodRecording recording, Supplier<HttpHeaders> trailers)
            implements CopiedBody.Listener {

        @Override
        public void copy(ByteBuf part) {
            recording.add(part);
        }

        @Override
        public void complete() {
            if (trailers.get().isEmpty()) {
                recording.complete();
            } else {
                recording.drop();
            }
        }

        @Override
        public void broken() {
            recording.drop();
        }
    }

    // ---------------------------------------------------------------- use

    /** The answer in place of a refusal; null: there is none, or the refusal is not the backend's. */
    static @Nullable Answer insteadOf(Refuse refuse, ExchangeContext exchange) {
        return exchange.record().route().lastGood() != null && isCausedByBackend(refuse.reason(), exchange.record())
                ? find(exchange, refuse.reason(), because(refuse.reason()), refuse.detail())
                : null;
    }

    /** The answer in place of the backend's; null: there is none, or the backend has not failed. */
    static @Nullable Answer insteadOf(int status, ExchangeContext exchange) {
        if (status < FIRST_FAILURE || exchange.record().route().lastGood() == null) {
            return null;
        }
        // Of a fallback's backend that fails, too, the reason for the fallback is kept.
        Reason reason = exchange.record().fallbackReason();
        return find(
                exchange,
                reason,
                reason == null ? "fwd-status=" + status : because(reason),
                "the backend answered with status " + status);
    }

    private static String because(Reason reason) {
        return "detail=" + reason.word();
    }

    /**
     * Not gateway-overloaded and shutting-down: they are decided before it is known whether the caller may
     * use the route.
     */
    private static boolean isCausedByBackend(Reason reason, ExchangeRecord record) {
        return switch (reason) {
            case CIRCUIT_OPEN,
                    BULKHEAD_FULL,
                    QUEUE_TIMEOUT,
                    QUEUE_EVICTED,
                    DEADLINE_EXCEEDED,
                    CONNECT_TIMEOUT,
                    CONNECT_FAILED,
                    CONNECTION_LOST -> true;
            case FAULT_INJECTED -> {
                InjectedFault fault = record.fault();
                yield fault != null && fault.order().status() >= FIRST_FAILURE;
            }
            default -> false;
        };
    }

    private static @Nullable Answer find(
            ExchangeContext exchange, @Nullable Reason reason, String why, @Nullable String detail) {
        ExchangeRecord record = exchange.record();
        LastGood lastGood = record.route().lastGood();
        Caller caller = record.caller();
        if (lastGood == null || exchange.isStream() || !LastGood.covers(caller.method(), caller.hasBody())) {
            return null;
        }
        LastGoodRequest request = asForBackend(caller);
        LastGoodReply reply = request == null ? null : lastGood.find(request, why);
        if (reply == null) {
            return null;
        }
        record.reason = reason;
        record.detail = detail;
        record.replacement = Replacement.byLastGood(reason, reply.ageSeconds());
        return new Answer(reply.status(), reply.headers(), reply.body(), true);
    }

    /** The request as an attempt would send it; null: a filter fails. */
    private static @Nullable LastGoodRequest asForBackend(Caller caller) {
        HttpHeaders toBackend = new DefaultHttpHeaders();
        try {
            caller.writeHead(toBackend, NO_INSTANCE);
            return new LastGoodRequest(caller.method(), caller.target(), caller.headers(), toBackend, NO_INSTANCE);
        } catch (RuntimeException e) {
            // An attempt would fail in the same way, which is logged there. The caller gets the refusal.
            return null;
        }
    }
}
