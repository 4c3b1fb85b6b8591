package io.weir.engine;

import io.weir.authentication.AuthenticationRule;
import io.weir.authentication.KeysAwaited;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.outcome.Reason;
import org.jspecify.annotations.Nullable;

/**
 * The wait for the keys of the issuer of a request's token. The exchange holds nothing: neither a permit nor
 * a byte of the body. The end of the fetch ends the wait; so does the deadline.
 */
final class AwaitingKeys implements ExchangePhase {

    private final ExchangeContext exchange;
    private final AuthenticationRule rule;
    private final Refuse otherwise;

    /** A wait that ends with this refusal if the keys remain unknown. */
    AwaitingKeys(ExchangeContext exchange, AuthenticationRule rule, Refuse otherwise) {
        this.exchange = exchange;
        this.rule = rule;
        this.otherwise = otherwise;
    }

    /** Begins the wait; false if too many requests wait for this issuer. */
    boolean begin(KeysAwaited awaited) {
        return awaited.whenFetched(() -> exchange.loop().execute(() -> exchange.resume(this, this::judge)));
    }

    /** The keys are fetched, or could not be. */
    private Decision judge() {
        Refuse refused = AuthenticationCheck.finalRefusal(AuthenticationCheck.tokenVerdict(rule, exchange.record()));
        return refused == null ? Step.CHECK_QUOTA : refused;
    }

    /** The token is not accepted. The time-out is the issuer's fault, and no backend's. */
    @Override
    public Decision expire(long now) {
        return otherwise;
    }

    @Override
    public Reason expiryReason(long now) {
        return otherwise.reason();
    }

    @Override
    public void release(@Nullable Reason why, long now) {}
}
