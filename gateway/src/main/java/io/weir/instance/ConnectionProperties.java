package io.weir.instance;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.connection}: the backend's own connection pool.
 *
 * <p>Its size is not a property: the pool has a connection for every call, stream and probe that the other
 * limits allow, and {@code headroom} more. It counts calls twice, since calls that hang when the breaker
 * opens give their permits back and keep their connections. So requests wait in the bulkhead's queue, where
 * they are counted and bounded, and never in the pool.
 *
 * @param connectTimeout time for a TCP connection to one address; 1ms to 1m. Within a site a handshake takes
 *     milliseconds; a lost SYN is sent again after a second. If a name in {@code instances} has several
 *     addresses, they are tried one after the other, each for this time. DNS, all addresses and TLS together
 *     get half of the time that is left of the deadline, and at least this time; the TLS handshake gets this
 *     time again, or one second if that is longer.
 * @param maxIdle a connection that is idle for longer is closed; 100ms to 10m. It is below the keep-alive
 *     time of usual backends (5 s and more), so that the gateway closes first, not the backend.
 * @param maxLife a connection that is older is closed once idle; 1s to 1d. So the gateway follows changes
 *     behind an address, and of a name in {@code instances}.
 * @param headroom connections beyond the permits, for connections that are being closed; 1 to 1000.
 * @param sslBundle the name of a {@code spring.ssl.bundle} with the trust and key material for an {@code
 *     https} backend; default: the JVM's trust store.
 */
public record ConnectionProperties(
        @DefaultValue("250ms") @DurationMin(millis = 1) @DurationMax(minutes = 1)
        Duration connectTimeout,

        @DefaultValue("4s") @DurationMin(millis = 100) @DurationMax(minutes = 10)
        Duration maxIdle,

        @DefaultValue("5m") @DurationMin(seconds = 1) @DurationMax(days = 1)
        Duration maxLife,

        @DefaultValue("16") @Min(1) @Max(1000) int headroom,
        @Nullable String sslBundle) {}
