package io.weir.apply;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;

/**
 * Resilience4j's registries. Its meters, endpoints and events show the registered objects.
 *
 * @param breakers the circuit breakers of all backends, by backend name
 * @param bulkheads the bulkheads of all backends, by backend name
 */
public record Resilience4jRegistries(CircuitBreakerRegistry breakers, BulkheadRegistry bulkheads) {}
