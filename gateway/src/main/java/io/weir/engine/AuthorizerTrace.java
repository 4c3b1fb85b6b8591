package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.instance.Instance;
import io.weir.outcome.Reason;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Reports the steps of a call to the authorizer to the trace of the exchange, until the call's answer
 * decides: the rest of its body arrives while the exchange goes on.
 */
final class AuthorizerTrace implements ExchangeTrace {

    private final ExchangeTrace ofExchange;
    private boolean isDecided;
    private boolean isUnderWay;

    AuthorizerTrace(ExchangeTrace ofExchange) {
        this.ofExchange = ofExchange;
    }

    /** The answer has decided. */
    void decided(long now) {
        attemptEnded(null, now);
        isDecided = true;
    }

    @Override
    public String traceId() {
        return ofExchange.traceId();
    }

    @Override
    public void waited(long from, long to, boolean permitted) {
        ofExchange.waited(from, to, permitted);
    }

    @Override
    public @Nullable Consumer<HttpHeaders> attempted(
            Backend backend, Instance instance, String method, String target, long now) {
        isUnderWay = true;
        return ofExchange.attempted(backend, instance, method, target, now);
    }

    @Override
    public void answered(int status) {
        ofExchange.answered(status);
    }

    @Override
    public void attemptEnded(@Nullable Reason why, long now) {
        if (isUnderWay && !isDecided) {
            isUnderWay = false;
            ofExchange.attemptEnded(why, now);
        }
    }

    /** The exchange goes on. */
    @Override
    public void ended(ExchangeRecord call) {}
}
