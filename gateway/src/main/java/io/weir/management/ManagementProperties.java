package io.weir.management;

import jakarta.validation.constraints.Size;
import org.jspecify.annotations.Nullable;

/**
 * {@code weir.management}: who may use the management port.
 *
 * @param token the bearer token that every request to the management port carries, health probes excepted; 16 to
 *     1024 characters; default: none. Required as soon as the port listens on anything but loopback.
 */
public record ManagementProperties(
        @Nullable @Size(min = 16, max = 1024) String token) {}
