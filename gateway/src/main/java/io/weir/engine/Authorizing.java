package io.weir.engine;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.weir.authorization.Authorization;
import io.weir.authorization.AuthorizationCache;
import io.weir.authorization.AuthorizationResult;
import io.weir.authorization.AuthorizationRule;
import io.weir.authorization.KnownAnswer;
import io.weir.engine.Decision.Answer;
import io.weir.engine.Decision.Await;
import io.weir.engine.Decision.Finish;
import io.weir.engine.Decision.Refuse;
import io.weir.outcome.Problem;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.outcome.RetryAfter;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The wait for the route's authorizer. The exchange holds nothing of its backend, and no byte of the body is
 * read. The call to the authorizer is an exchange of its own, through the compartment of that backend and
 * within the time that is left: it ends when the exchange ends.
 *
 * <p>A request that is not allowed gets no fallback and no last good answer: those are for requests that may
 * use the route.
 */
final class Authorizing implements ExchangePhase {

    private static final byte[] NO_BODY = {};

    private final ExchangeContext exchange;
    private final Authorizer authorizer;

    /** The call; null: it has decided, or the exchange does not wait any more. */
    private @Nullable ExchangeContext call;

    /** The key of the request in the cache; null: there is none. */
    private @Nullable String key;

    /** Whether a decision is kept for the method that is running. */
    private boolean isKeeping;

    private @Nullable Decision kept;

    Authorizing(ExchangeContext exchange, Authorizer authorizer) {
        this.exchange = exchange;
        this.authorizer = authorizer;
    }

    /** Decides by an earlier answer, or asks the authorizer. */
    Decision begin() {
        AuthorizationCache cache = authorizer.cache();
        if (cache != null) {
            String ofRequest = cache.key(record().caller().received().headers(), this::request);
            KnownAnswer known = ofRequest == null ? null : cache.find(ofRequest);
            if (known != null) {
                return decide(known);
            }
            key = ofRequest;
        }
        return ask();
    }

    /** What the authorizer gets besides {@code headers-in}. */
    private List<String> request() {
        Caller caller = record().caller();
        ReceivedRequest received = caller.received();
        return List.of(
                caller.method().name(),
                received.scheme(),
                received.headers().get(HttpHeaderNames.HOST, ""),
                received.forwardedUri(),
                String.valueOf(received.clientAddress()));
    }

    private Decision decide(KnownAnswer known) {
        if (AuthorizationRule.verdict(known.status()) == AuthorizationRule.Verdict.ALLOWS) {
            record().authorization = new Authorization(AuthorizationResult.ALLOWED_CACHED, known.fields());
            return RequestCheck.proceed(exchange);
        }
        return deny(AuthorizationResult.DENIED_CACHED, known.status(), known.fields(), known.body());
    }

    private Decision ask() {
        AuthorizerCall caller = new AuthorizerCall(exchange, authorizer.rule(), this);
        ExchangeContext asking = exchange.newCall(authorizer.calls(), caller);
        call = asking;
        Decision atOnce = decisionOf(() -> caller.start(asking));
        return atOnce == null ? new Await(this) : atOnce;
    }

    /** The decision that an event brings at once; null: none. */
    private @Nullable Decision decisionOf(Runnable event) {
        isKeeping = true;
        try {
            event.run();
        } finally {
            isKeeping = false;
        }
        return kept;
    }

    // ---------------------------------------------------------------- the end of the call

    /** The authorizer allows the request. */
    void allowed(HttpHeaders answer) {
        decide(() -> {
            Authorization allowed = authorizer.rule().allowed(answer);
            record().authorization = allowed;
            keep(answer, new KnownAnswer(HttpResponseStatus.OK.code(), allowed.granted(), NO_BODY));
            return RequestCheck.proceed(exchange);
        });
    }

    /**
     * The authorizer denies the request: its answer is for the caller.
     *
     * @param body null: it is too large
     */
    void denied(int status, HttpHeaders answer, byte @Nullable [] body) {
        decide(() -> {
            if (body != null) {
                // The doors change the fields that they send.
                keep(answer, new KnownAnswer(status, new DefaultHttpHeaders().set(answer), body));
            }
            return deny(AuthorizationResult.DENIED, status, answer, body);
        });
    }

    /** The answer says nothing about the request. */
    void answeredUselessly(int status) {
        decide(() -> fail(
                new Refusal(
                        Reason.AUTHORIZER_FAILED,
                        null,
                        RetryAfter.millis(0, exchange.resources().random())),
                "the authorizer answered with status " + status));
    }

    /**
     * There is no answer.
     *
     * @param refusal the refusal of the call
     * @param detail for the log; null: none
     */
    void failed(Refusal refusal, @Nullable String detail) {
        decide(() -> fail(
                refusal, "the authorizer: " + (detail == null ? refusal.reason().word() : detail)));
    }

    private void decide(Supplier<Decision> decision) {
        ExchangeContext decided = call;
        if (decided == null) {
            return;
        }
        call = null;
        if (decided.record().trace() instanceof AuthorizerTrace trace) {
            trace.decided(exchange.now());
        }
        if (isKeeping) {
            kept = decision.get();
        } else {
            exchange.resume(this, decision);
        }
    }

    private void keep(HttpHeaders answer, KnownAnswer known) {
        AuthorizationCache cache = authorizer.cache();
        String ofRequest = key;
        if (cache != null && ofRequest != null) {
            cache.put(ofRequest, answer, known);
        }
    }

    private Decision deny(AuthorizationResult result, int status, HttpHeaders answer, byte @Nullable [] body) {
        end(result);
        String detail = "the authorizer answered with status " + status;
        Caller caller = record().caller();
        if (Problem.isGrpc(caller.received().headers())) {
            // The way to a login is for callers that are not known yet.
            boolean isUnknown =
                    status <= HttpResponseStatus.UNAUTHORIZED.code() && status != HttpResponseStatus.BAD_REQUEST.code();
            Refusal refusal = Refusal.of(isUnknown ? Reason.UNAUTHORIZED : Reason.FORBIDDEN, null)
                    .challenging(answer.get(HttpHeaderNames.WWW_AUTHENTICATE));
            return new Finish(refusal, detail);
        }
        record().reason = reason(status);
        record().detail = detail;
        HttpHeaders head = new DefaultHttpHeaders().set(answer);
        head.remove(HttpHeaderNames.TRANSFER_ENCODING);
        byte[] sent = body;
        if (sent == null) {
            head.remove(HttpHeaderNames.CONTENT_ENCODING);
            head.remove(HttpHeaderNames.CONTENT_TYPE);
            sent = NO_BODY;
        }
        head.setInt(HttpHeaderNames.CONTENT_LENGTH, sent.length);
        return new Answer(status, head, HttpMethod.HEAD.equals(caller.method()) ? NO_BODY : sent, true);
    }

    /** The word for the denial; null: the class of its status. */
    private static @Nullable Reason reason(int status) {
        if (status == HttpResponseStatus.UNAUTHORIZED.code()) {
            return Reason.UNAUTHORIZED;
        }
        return status == HttpResponseStatus.FORBIDDEN.code() ? Reason.FORBIDDEN : null;
    }

    private Decision fail(Refusal refusal, String detail) {
        if (authorizer.rule().passesOnFailure()) {
            record().authorization = Authorization.without(AuthorizationResult.PASSED);
            record().detail = "passed without authorization: " + detail;
            return RequestCheck.proceed(exchange);
        }
        end(AuthorizationResult.FAILED);
        return new Finish(refusal, detail);
    }

    /** The exchange ends at its authorizer, and so with that backend. */
    private void end(AuthorizationResult result) {
        record().authorization = Authorization.without(result);
        record().backend = authorizer.calls().backend();
    }

    private ExchangeRecord record() {
        return exchange.record();
    }

    // ---------------------------------------------------------------- the phase

    /** The call has no more time than the exchange: it judges whether the authorizer is at fault. */
    @Override
    public Decision expire(long now) {
        ExchangeContext asking = call;
        Decision late = asking == null ? null : decisionOf(asking::timePassed);
        return late == null ? cutShort(Reason.DEADLINE_EXCEEDED, "the authorizer") : late;
    }

    @Override
    public Decision cutShort(Reason why, @Nullable String detail) {
        return new Finish(Refusals.of(new Refuse(why, detail), record(), exchange.resources()), detail);
    }

    @Override
    public void release(@Nullable Reason why, long now) {
        ExchangeContext asking = call;
        if (asking != null) {
            call = null;
            asking.leave();
        }
    }
}
