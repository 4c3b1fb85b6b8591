package io.weir.engine;

import io.weir.authentication.AuthenticationRefusal;
import io.weir.authentication.AuthenticationRule;
import io.weir.authentication.KeysAwaited;
import io.weir.authentication.TokenVerdict;
import io.weir.authentication.VerifiedToken;
import io.weir.engine.Decision.Refuse;
import io.weir.outcome.Reason;
import org.jspecify.annotations.Nullable;

/** Checks the proof of identity that an exchange's route requires. */
final class AuthenticationCheck {

    private AuthenticationCheck() {}

    /**
     * The refusal of a caller without a certificate that the route accepts; null: it has one, or need not.
     */
    static @Nullable Refuse certificateRefusal(AuthenticationRule rule, Caller caller) {
        AuthenticationRefusal refusal = rule.needsCertificate()
                ? rule.checkCertificate(caller.received().clientCertificate())
                : null;
        return refusal == null ? null : refuse(refusal);
    }

    /** Judges the token of the request, and records an accepted one. */
    static TokenVerdict tokenVerdict(AuthenticationRule rule, ExchangeRecord record) {
        TokenVerdict verdict = rule.check(record.caller().received().headers());
        if (verdict instanceof VerifiedToken token) {
            record.token = token;
        }
        return verdict;
    }

    /** The refusal of a request whose token was judged for the last time; null: it is accepted. */
    static @Nullable Refuse finalRefusal(TokenVerdict verdict) {
        return switch (verdict) {
            case VerifiedToken accepted -> null;
            case AuthenticationRefusal refused -> refuse(refused);
            case KeysAwaited awaited -> refuse(awaited.otherwise());
        };
    }

    /** The refusal as a decision. */
    static Refuse refuse(AuthenticationRefusal refusal) {
        return new Refuse(
                refusal.isForbidden() ? Reason.FORBIDDEN : Reason.UNAUTHORIZED, refusal.detail(), refusal.challenge());
    }
}
