/**
 * Limits that hold for all gateways together ({@code bulkhead.scope: cluster}).
 *
 * <p><b>Protects against</b> a backend that gets more calls when somebody adds gateways: its limit is written once, for
 * all, and divided by the number of gateways.
 *
 * <p><b>Algorithm.</b> {@link io.weir.cluster.GatewayCount} asks DNS every two seconds for a name with an address for each
 * gateway (a headless service); {@link io.weir.cluster.Share} divides; bulkheads are resized in place. Nothing of it is on
 * a request's path. Once DNS has a change, it is in force after one {@code weir.cluster.refresh-interval} at the latest, and
 * the time that DNS takes to answer. While DNS does not answer, or answers that there is nobody, the last number stands: a
 * gateway that can be asked is at least one, and the backend did not become more able because DNS is down.
 *
 * <p><b>Why this and not that.</b> A coordinator (Redis, a lease service) would keep the limit exactly and use it up where the
 * callers are, but then it is on the path of each request, and its failure is everybody's. The API server would tell sooner
 * than DNS, and wants a permission and a client for it. Shares are equal, so callers have to be spread evenly: whoever gets
 * more of them refuses while others have permits left.
 *
 * <p><b>Limitations.</b> While gateways come and go the sum is wrong for the time of a refresh and of DNS's own caches: a
 * new one is not counted until it is ready, and counts itself from its first answer on. With more gateways than calls
 * each keeps one, since a gateway that permits nothing would be an outage: {@code weir.permits.floored} tells. The queue, streams and
 * connections stay those of each gateway.
 */
@NullMarked
package io.weir.cluster;

import org.jspecify.annotations.NullMarked;
