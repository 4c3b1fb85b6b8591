package io.weir.metrics;

import io.weir.authentication.Issuer;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Meters of the issuers of tokens. */
// Concurrency: guarded by this.
public final class IssuerMeters {

    private static final double NANOS_PER_SECOND = 1e9;

    private final MeterBook book;
    private @Nullable MeterScope shown;

    /** No issuers yet. */
    public IssuerMeters(MeterBook book) {
        this.book = book;
    }

    /** Shows the issuers of a configuration, in place of those before. */
    public synchronized void show(Collection<Issuer> issuers) {
        MeterScope before = shown;
        MeterScope next = null;
        if (!issuers.isEmpty()) {
            next = book.open();
            for (Issuer issuer : issuers) {
                show(next, issuer);
            }
        }
        shown = next;
        if (before != null) {
            before.close();
        }
    }

    private static void show(MeterScope scope, Issuer issuer) {
        String name = issuer.name();
        scope.gauge(GatewayMeter.ISSUER_KEYS, issuer::keyCount, name);
        scope.gauge(GatewayMeter.ISSUER_FAILING, () -> issuer.failingNanos() / NANOS_PER_SECOND, name);
        scope.counter(GatewayMeter.ISSUER_FETCHES, issuer::fetched, name, "fetched");
        scope.counter(GatewayMeter.ISSUER_FETCHES, issuer::partialFetches, name, "partial");
        scope.counter(GatewayMeter.ISSUER_FETCHES, issuer::failedFetches, name, "failed");
        scope.counter(GatewayMeter.TOKENS, issuer::cachedTokens, name, "cached");
        scope.counter(GatewayMeter.TOKENS, issuer::verifiedTokens, name, "verified");
        scope.counter(GatewayMeter.TOKENS, issuer::refusedTokens, name, "refused");
    }
}
