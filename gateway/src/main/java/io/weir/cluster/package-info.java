/**
 * Limits for all gateways together ({@code bulkhead.scope: cluster}).
 *
 * <p><b>Protects against</b> a backend that receives more calls when gateways are added: its limit is
 * configured once, for all gateways, and divided by their number.
 *
 * <p><b>Algorithm.</b> Every two seconds {@link io.weir.cluster.GatewayCount} resolves a DNS name with an
 * address for each gateway (a headless service). {@link io.weir.cluster.Membership} is the number of these
 * addresses, and the place of this gateway's own address in their order. {@link io.weir.cluster.Share}
 * divides the limit: 7 permits are 2, 2, 2 and 1 for four gateways, so the shares add up to the limit.
 * Bulkheads are resized in place. None of this is on a request's path. A change in DNS takes effect after at
 * most one {@code weir.cluster.refresh-interval} and the time of DNS's answer. If DNS does not answer, or
 * returns no address, the last membership stays in force: at least this gateway exists, and the backend has
 * not gained capacity because DNS is down. The fleet asks the same addresses ({@link
 * io.weir.cluster.GatewayAddresses}).
 *
 * <p><b>No rank.</b> The rank is unknown if none of the addresses is this machine's (behind address
 * translation), or several are. Such a gateway rounds its share down: the shares may then add up to less than
 * the limit, but not to more.
 *
 * <p><b>DNS is down at the start.</b> The gateway starts, waits for DNS for a few seconds (at the same time
 * as for the backends' addresses), and then serves with the share of one gateway of
 * {@code weir.cluster.initial-gateways} until DNS answers. The whole limit for each gateway would break the
 * promise to the backend just when everything restarts. A refusal to start, or to serve, would make the
 * failure of DNS an outage of the gateway, although a backend whose address is known can serve. Until DNS
 * answers, the metric {@code weir.cluster.gateways} is 0, and the log has a warning.
 *
 * <p><b>Why this and not that.</b> A coordinator (Redis, a lease service) would keep the limit exactly, and
 * could give permits to the gateways that need them. But a coordinator is on the path of each request, and
 * its failure would affect all gateways. The Kubernetes API server would report changes sooner than DNS, but
 * requires a permission and a client. Shares are equal, so callers have to be spread evenly: a gateway with
 * more callers refuses calls while others have free permits.
 *
 * <p><b>Limitations.</b> While gateways start or stop, they see different addresses and the sum of the shares
 * is wrong, for the time of one refresh and of DNS's own caches: a new gateway is not counted by the others
 * until it is ready, and counts itself from its first answer on. With more gateways than permits, each
 * gateway keeps one, since a gateway without permits would be an outage; the metric
 * {@code weir.permits.floored} shows it. Queue, streams and connections are limited for each gateway, not for
 * the cluster. Each gateway has its own breaker, whose window does not depend on the share.
 */
@NullMarked
package io.weir.cluster;

import org.jspecify.annotations.NullMarked;
