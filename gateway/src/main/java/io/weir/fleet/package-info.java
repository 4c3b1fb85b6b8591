/**
 * All gateways together: their state, and changes by operators for all of them.
 *
 * <p><b>Purpose.</b> An operator of several gateways sees each one in one table, with the state of its
 * backends and the hash of its configuration, and changes all of them with one request: during an incident,
 * a breaker that is forced open on some of the gateways does not protect the backend.
 *
 * <p><b>Algorithm.</b> {@link io.weir.fleet.Members} contains the addresses of the other gateways, which
 * {@link io.weir.cluster.GatewayCount} has resolved. {@link io.weir.fleet.Peers} sends the caller's request
 * to the management port of each, with the port and the scheme of this gateway's own management port, at most
 * 64 at once. {@code GET /actuator/weirfleet} collects the {@link io.weir.fleet.GatewaySummary} of each
 * gateway ({@link io.weir.fleet.FleetView}). A change with {@code ?fleet=true} ({@link
 * io.weir.fleet.FleetFilter}) is first applied here. If this gateway refuses it, it is passed on to none, and
 * the answer is this gateway's. Otherwise all others get it, and the answer has a line for each ({@link
 * io.weir.fleet.FleetAnswer}): status 200 if all have taken it, else 502, so that {@code curl -f} fails.
 * Rejected: 207, which every client takes for success. Each gateway ends the change by itself after its time
 * to live.
 *
 * <p><b>Addresses.</b> A caller never chooses an address, a port or a path: the addresses are those of DNS,
 * the port is this gateway's, the paths are a fixed list. Redirects are not followed. If this gateway does
 * not know its own address, it asks itself, too: each gateway has an identifier, which it sends in the field
 * {@code weir-passed-on-by}, and a gateway that receives its own identifier answers 508, which removes the
 * line and shows the address.
 *
 * <p><b>No loop.</b> A request with this field is applied where it arrives, and never passed on. The field
 * gives no rights: the guard checks host, origin and token of each request as of any other.
 *
 * <p><b>Rights.</b> The caller's own token is passed on, so each gateway decides for itself, and its audit
 * names the token's holder, and that another gateway has passed the request on. So all gateways need the same
 * tokens. Rejected: a token of the gateways themselves, which would give each caller of one gateway the
 * rights of that gateway on all others. The token crosses the network between the gateways: with TLS on the
 * management port the others must have a certificate for the name {@code weir.cluster.gateways}, which the
 * trust store of the management port's bundle (else the JVM's) verifies; without TLS, an attacker who can
 * forge the DNS answers or read that network gets the token. {@code weir.cluster.fleet: false} switches all
 * of this off.
 *
 * <p><b>A change is completed</b> even if its caller leaves, and is never sent twice to a gateway. A gateway
 * that does not answer in time may have taken it; its line says so.
 *
 * <p><b>Concurrency.</b> Requests use the gateway's event loops without blocking; texts are encoded and
 * decoded on bounded elastic threads. At most eight views and eight changes are under way. An unused fleet
 * holds no thread and no connection.
 *
 * <p><b>Limitations.</b> Only gateways that DNS lists are asked: one that starts later, or is not ready, does
 * not get a change. The identifier of a fault is of one gateway, so only all faults can be ended everywhere.
 * Gateways behind one address cannot be told apart.
 */
@NullMarked
package io.weir.fleet;

import org.jspecify.annotations.NullMarked;
