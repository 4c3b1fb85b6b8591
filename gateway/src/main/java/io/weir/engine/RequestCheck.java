package io.weir.engine;

import io.weir.access.AddressRule;
import io.weir.authentication.AuthenticationRule;
import io.weir.authentication.KeysAwaited;
import io.weir.authentication.TokenVerdict;
import io.weir.body.ContentLength;
import io.weir.engine.Decision.Answer;
import io.weir.engine.Decision.Await;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.fallback.StaticAnswer;
import io.weir.outcome.Reason;
import io.weir.ratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;

/**
 * The checks of a request before its exchange asks for a permit, in this order: address, certificate, token,
 * quota, head, authorizer. Each is done once. A check that must wait for an event goes on in a phase of its
 * own. After them a route that has an answer of its own gives it.
 *
 * <p>Stateless, and called on the exchange's event loop.
 */
final class RequestCheck {

    private RequestCheck() {}

    /**
     * Refuses a request whose caller may not use the route or is over its quota, and one that cannot be
     * passed on; otherwise requests the admission.
     */
    static Decision begin(ExchangeContext exchange) {
        ExchangeRecord record = exchange.record();
        AddressRule access = record.route().access();
        if (access != null
                && !access.permits(record.caller().received().clientAddress())
                && record.backend().enforces(access.isEnforced(), Reason.FORBIDDEN)) {
            return Refuse.FORBIDDEN;
        }
        AuthenticationRule authentication = record.route().authentication();
        return authentication == null ? Step.CHECK_QUOTA : authenticate(exchange, authentication);
    }

    /** Refuses a request without the proof of identity that the route requires. */
    private static Decision authenticate(ExchangeContext exchange, AuthenticationRule rule) {
        ExchangeRecord record = exchange.record();
        Refuse withoutCertificate = AuthenticationCheck.certificateRefusal(rule, record.caller());
        if (withoutCertificate != null || !rule.needsToken()) {
            return orElse(withoutCertificate, Step.CHECK_QUOTA);
        }
        TokenVerdict verdict = AuthenticationCheck.tokenVerdict(rule, record);
        if (verdict instanceof KeysAwaited awaited) {
            AwaitingKeys awaiting = new AwaitingKeys(exchange, rule, AuthenticationCheck.refuse(awaited.otherwise()));
            if (awaiting.begin(awaited)) {
                return new Await(awaiting);
            }
        }
        return orElse(AuthenticationCheck.finalRefusal(verdict), Step.CHECK_QUOTA);
    }

    /** Asks the counter that all gateways share, if the route has one; else this gateway's own. */
    static Decision checkQuota(ExchangeContext exchange) {
        RateLimiter limiter = exchange.record().route().rateLimiter();
        if (limiter == null || !limiter.asksShared()) {
            return takeLocalPermit(exchange);
        }
        AwaitedQuota awaited = new AwaitedQuota(exchange, limiter, exchange.now());
        awaited.begin();
        return new Await(awaited);
    }

    /** Takes the permit of this gateway's own count. */
    static Decision takeLocalPermit(ExchangeContext exchange) {
        return orElse(QuotaCheck.refusal(exchange.record()), Step.CHECK_HEAD);
    }

    /** Refuses a request that cannot be passed on, and asks the authorizer. Reads the caller's deadline. */
    static Decision checkHead(ExchangeContext exchange) {
        Caller caller = exchange.record().caller();
        try {
            exchange.timer().shorten(caller.received().headers());
        } catch (IllegalArgumentException e) {
            return new Refuse(Reason.BAD_REQUEST, e.getMessage());
        }
        boolean isTooLarge = caller.hasBody()
                && ContentLength.of(caller.received().headers())
                        > exchange.resources().limits().maxBodyBytes();
        if (isTooLarge) {
            return Refuse.PAYLOAD_TOO_LARGE;
        }
        Authorizer authorizer = exchange.record().route().authorizer();
        return authorizer == null ? proceed(exchange) : new Authorizing(exchange, authorizer).begin();
    }

    /** The request may use the route: requests the admission, or answers for the route. */
    static Decision proceed(ExchangeContext exchange) {
        StaticAnswer own = exchange.record().route().answer();
        return own == null ? Step.REQUEST_ADMISSION : answer(exchange.record(), own);
    }

    /** The route's own answer, without a permit: nothing is asked of the backend. */
    private static Decision answer(ExchangeRecord record, StaticAnswer own) {
        record.detail = "the route's own answer";
        record.replacement = Replacement.byRoute();
        return Answer.of(own, record.caller());
    }

    private static Decision orElse(@Nullable Refuse refused, Step next) {
        return refused == null ? next : refused;
    }
}
