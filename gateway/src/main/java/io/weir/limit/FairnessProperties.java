package io.weir.limit;

import jakarta.validation.constraints.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * {@code weir.backends.<name>.fairness}: fair shares for tenants whose calls wait for the backend.
 *
 * @param key the part of a request that names its tenant; {@code client-address}: the caller's address, as
 *     trusted proxies report it (of an IPv6 address, its /64 network); {@code header:NAME}: a header field of
 *     trusted proxies; {@code claim:NAME}: a claim of the token that the route has verified, apart for each
 *     issuer (a dot leads to a nested claim); default: none. Without it, all calls are of one tenant. Tenants
 *     take turns within a priority, and the tenant with the most waiting calls is refused first. All calls
 *     without the field or claim, and all from a peer that is no trusted proxy, are of one tenant.
 */
public record FairnessProperties(
        @Nullable
        @Pattern(
                regexp = "client-address|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|claim:[^\\s=]{1,100}",
                message = "client-address, header:NAME or claim:NAME")
        String key) {

    /** The key; null: there are no tenants. */
    public @Nullable TenantKey tenantKey() {
        return key == null ? null : TenantKey.of(key);
    }
}
