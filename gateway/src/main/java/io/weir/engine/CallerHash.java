package io.weir.engine;

import io.weir.limit.TenantKey;
import io.weir.limit.Tenants;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A hash of the caller of an exchange, so that the failures of one caller are told from those of the backend:
 * of the tenant where {@code fairness.key} is configured, else of the address, or of an IPv6 address its
 * network.
 */
final class CallerHash {

    private static final int NETWORK_BYTES = 8;

    private CallerHash() {}

    /** The hash; 0 if the caller is not known. */
    static int of(ExchangeRecord record) {
        String tenant = tenant(record);
        if (tenant != null) {
            return tenant.hashCode();
        }
        InetAddress address = record.caller().received().clientAddress();
        if (address == null) {
            return 0;
        }
        return address instanceof Inet6Address
                ? Arrays.hashCode(Arrays.copyOf(address.getAddress(), NETWORK_BYTES))
                : address.hashCode();
    }

    /** The tenant of the exchange at its present backend; null: the backend tells none apart. */
    static @Nullable String tenant(ExchangeRecord record) {
        Tenants tenants = record.backend().tenants();
        if (tenants == null) {
            return null;
        }
        TenantKey key = tenants.key();
        String claim = key.claim();
        return claim == null ? record.caller().received().tenant(key) : TenantKey.name(record.callerBy(claim));
    }
}
