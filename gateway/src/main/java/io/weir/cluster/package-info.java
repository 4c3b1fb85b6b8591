/**
 * Limits for all gateways together ({@code bulkhead.scope: cluster}).
 *
 * <p><b>Protects against</b> a backend that receives more calls when gateways are added: its limit is
 * configured once, for all gateways, and divided by their number.
 *
 * <p><b>Algorithm.</b> Every two seconds {@link io.weir.cluster.GatewayCount} resolves a DNS name with an
 * address for each gateway (a headless service). {@link io.weir.cluster.Share} divides the limit, and
 * bulkheads are resized in place. None of this is on a request's path. A change in DNS takes effect after at
 * most one {@code weir.cluster.refresh-interval} and the time of DNS's answer. If DNS does not answer, or
 * returns no address, the last number stays in force: at least this gateway exists, and the backend has not
 * gained capacity because DNS is down.
 *
 * <p><b>Why this and not that.</b> A coordinator (Redis, a lease service) would keep the limit exactly, and
 * could give permits to the gateways that need them. But it is on the path of each request, and its failure
 * would affect all gateways. The Kubernetes API server would report changes sooner than DNS, but requires a
 * permission and a client. Shares are equal, so callers have to be spread evenly: a gateway with more callers
 * refuses calls while others have free permits.
 *
 * <p><b>Limitations.</b> While gateways start or stop, the sum of the shares is wrong, for the time of one
 * refresh and of DNS's own caches: a new gateway is not counted by the others until it is ready, and counts
 * itself from its first answer on. With more gateways than permits, each gateway keeps one, since a gateway
 * without permits would be an outage; the metric {@code weir.permits.floored} shows it. Queue, streams and
 * connections are limited for each gateway, not for the cluster.
 */
@NullMarked
package io.weir.cluster;

import org.jspecify.annotations.NullMarked;
