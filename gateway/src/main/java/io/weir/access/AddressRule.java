package io.weir.access;

import io.weir.edge.Networks;
import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/** Which addresses may use a route. Immutable. */
public final class AddressRule {

    private final Networks allowed;
    private final Networks denied;
    private final boolean isEnforced;

    /**
     * The rule of a route.
     *
     * @throws IllegalArgumentException if a network is malformed
     */
    public AddressRule(AccessProperties properties) {
        this.allowed = Networks.of("access.allow", properties.allow());
        this.denied = Networks.of("access.deny", properties.deny());
        this.isEnforced = properties.enforce();
    }

    /** Whether other callers are refused; otherwise they are only counted. */
    public boolean isEnforced() {
        return isEnforced;
    }

    /** Whether a caller may not use the route, and the rule is enforced. */
    public boolean refuses(@Nullable InetAddress address) {
        return isEnforced && !permits(address);
    }

    /**
     * Whether a caller may use the route.
     *
     * @param address the caller's address; null: unknown
     */
    public boolean permits(@Nullable InetAddress address) {
        if (allowed.isEmpty() && denied.isEmpty()) {
            return true;
        }
        return address != null && !denied.contains(address) && (allowed.isEmpty() || allowed.contains(address));
    }
}
