package io.weir.metrics;

/**
 * Every meter that the gateway defines. All meters are created from these definitions.
 *
 * <p>The values of all tags are bounded by the configuration or by an enum: a path, a header or a caller's
 * address is never a tag. The tag {@code instance} is the address of a backend's instance. Prometheus calls
 * that label {@code exported_instance}, since {@code instance} is the gateway there.
 *
 * <p>A scrape also has Resilience4j's meters ({@code resilience4j_circuitbreaker_*}, {@code
 * resilience4j_bulkhead_*}) and the JVM's.
 */
public sealed interface Meters permits RouteMeter, BackendMeter, GatewayMeter {

    /** Name, kind, unit, tags and description. */
    MeterDefinition definition();
}
