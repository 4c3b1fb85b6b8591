package io.weir.management;

import org.jspecify.annotations.Nullable;

/**
 * An operator's change of a backend that is in force, in the endpoint {@code weir} and on the dashboard.
 *
 * @param change {@code breaker}, {@code instance}, or the path of a property below the backend, such as
 *     {@code bulkhead.max-concurrent-calls}
 * @param value {@code open} or {@code closed}; {@code drained}; the property's value
 * @param instance the address of the drained instance; null: the change is of the whole backend
 * @param by the operator
 * @param since the time of the change, as ISO 8601 has it
 * @param until the time at which the change ends by itself; null: an operator ends it
 */
public record OperatorChangeView(
        String change,
        String value,
        @Nullable String instance,
        String by,
        String since,
        @Nullable String until) {}
