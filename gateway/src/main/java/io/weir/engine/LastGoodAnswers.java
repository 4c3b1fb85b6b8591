package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
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
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
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
     * The body of an answer, which is recorded on its way if it can be a last good answer.
     *
     * @param body byte buffers, or holders of them
     * @param instanceHost the {@code Host} of the instance that answers
     * @param trailers the answer's, once its body is complete
     */
    static Publisher<?> recorded(
            Publisher<?> body,
            ExchangeContext exchange,
            HttpClientResponse answer,
            String instanceHost,
            Supplier<HttpHeaders> trailers) {
        LastGoodRecording recording = begin(exchange, answer, instanceHost);
        if (recording == null) {
            return body;
        } else if (recording.isWhole()) {
            recording.complete();
            return body;
        }
        return recorded(body, recording, trailers);
    }

    /** The body, which is recorded on its way. */
    static Flux<Object> recorded(Publisher<?> body, LastGoodRecording recording, Supplier<HttpHeaders> trailers) {
        return Flux.<Object>from(body)
                .doOnNext(
                        part -> recording.add(part instanceof ByteBufHolder holder ? holder.content() : (ByteBuf) part))
                .doOnError(failure -> recording.drop())
                .doOnComplete(() -> end(recording, trailers.get()))
                // The last one runs first: a cancelled body may complete.
                .doOnCancel(recording::drop);
    }

    /** Begins to record an answer; null: it is not kept. */
    private static @Nullable LastGoodRecording begin(
            ExchangeContext exchange, HttpClientResponse answer, String instanceHost) {
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
                caller.method(), caller.target(), caller.received().headers(), answer.requestHeaders(), instanceHost);
        return lastGood.record(request, answer.status().code(), answer.responseHeaders());
    }

    private static void end(LastGoodRecording recording, HttpHeaders trailers) {
        if (trailers.isEmpty()) {
            recording.complete();
        } else {
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
            return new LastGoodRequest(
                    caller.method(), caller.target(), caller.received().headers(), toBackend, NO_INSTANCE);
        } catch (RuntimeException e) {
            // An attempt would fail in the same way, which is logged there. The caller gets the refusal.
            return null;
        }
    }
}
