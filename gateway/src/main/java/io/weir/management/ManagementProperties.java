package io.weir.management;

import jakarta.validation.constraints.Size;
import org.jspecify.annotations.Nullable;

/**
 * {@code weir.management}: access to the management port.
 *
 * @param token bearer token that every request to the management port needs, except health probes; 16 to 1024
 *     characters; default: none. Required if the port listens on another address than loopback.
 */
public record ManagementProperties(
        @Nullable @Size(min = 16, max = 1024) String token) {}
