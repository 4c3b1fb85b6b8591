package io.weir.hedge;

import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>.hedge}: a second attempt, at another instance, for a call whose answer is late. For
 * requests that may be sent twice, to backends with several instances. Off unless configured.
 *
 * @param after the time without the head of an answer after which a call is sent a second time; {@code p95}:
 *     the time within which 95 % of the route's answers have begun, as the gateway learns it (not before 100
 *     answers); or 1ms to 10m, less than the deadline. With {@code p95}, about one call in 20 is sent twice.
 * @param enforce whether calls are sent a second time. If false, the gateway only counts the calls that would
 *     be ({@code weir_hedges_total} with the result {@code would-start}).
 */
public record HedgeProperties(
        @DefaultValue("p95") @DurationMin(millis = 1) @DurationMax(minutes = 10)
        HedgeDelay after,

        @DefaultValue("true") boolean enforce) {}
