/**
 * The proof of identity that a route requires of its callers: a bearer token of a configured issuer (JSON web
 * token, RFC 7519 and 6750), or a client certificate (RFC 9440).
 *
 * <p>{@link io.weir.authentication.AuthenticationRule} decides at the start of an exchange, after the
 * caller's address and before the rate limit: a refused request costs no permit of a quota, no permit of the
 * backend, no probe and no byte of the body. It is no evidence against the backend. A request without a valid
 * proof gets {@code unauthorized} (401), one whose proof is not sufficient for the route {@code forbidden}
 * (403). Rejected alternative: the rate limit before it. A limit by address would bound floods of bad tokens,
 * but where the key of the limit is a header, a caller without a proof could use up the quota of another one.
 *
 * <p><b>Validation</b> is Spring Security's ({@code NimbusJwtDecoder} and its validators) with the keys in
 * memory. Its decoder for a JWK-set URI fetches keys on the calling thread, and {@code
 * NimbusReactiveJwtDecoder} fetches them while the request waits, each time that its copy has expired: an
 * issuer that is down would then refuse everybody. So {@link io.weir.authentication.IssuerKeys} fetches them
 * in the background, and keeps them while the issuer is down.
 *
 * <p><b>Keys</b>
 *
 * <ul>
 *   <li>A known key is used until a later set of keys lacks it. An issuer that is down refuses nobody whose
 *       key is known; an alert tells an operator after ten minutes.
 *   <li>A token with an unknown key waits for a fetch: an issuer may sign with a new key at once. The number
 *       of fetches is bounded by {@code unknown-key-interval}, that of the waiting requests by
 *       {@value io.weir.authentication.KeyFetch#MAX_WAITING} for each issuer, and the wait by the deadline.
 *       Until the interval has passed, another token with an unknown key is refused at once.
 *   <li>Where no key was ever known, a token gets 401 {@code unauthorized}, as in Envoy, without
 *       {@code error="invalid_token"}: the caller may try again with the same token. A 503 would count the
 *       issuer's outage against the gateway's availability, and would tell the caller that waiting helps.
 *   <li>A set without any usable key counts as a failed fetch.
 * </ul>
 *
 * <p><b>Cost.</b> The check of an RSA signature takes 0.1 to 0.2 ms on a busy core, which an event loop can
 * spare once for a token, but not for each request: it would be more than the rest of the forwarding.
 * {@link io.weir.authentication.TokenCache} keeps verified tokens until they expire or the keys change. It is
 * bounded in number and in size, and contains only tokens that an issuer has signed. A route without
 * authentication costs one comparison with null.
 *
 * <p><b>Client certificates.</b> The TLS handshake decides whether a certificate is valid; a route may then
 * accept only some of them, by {@link io.weir.authentication.CertificatePattern}. The forms are those of
 * Envoy's {@code match_typed_subject_alt_names} (DNS, URI) and of the subject, with one wildcard in place of
 * regular expressions, which accept more than their authors mean when a dot is not escaped. The list is one,
 * so that its entries are alternatives beyond doubt. The subject's common name is never read as a DNS name
 * (RFC 9525), and a wildcard in a certificate is an ordinary character. The names are read once for each
 * connection.
 *
 * <p><b>Fields.</b> {@link io.weir.authentication.ReservedFields} removes the identity's field and RFC 9440's
 * fields from all requests on all routes before a route is matched, so that no caller can forge them through
 * another route to the same backend that requires no authentication. They are written after the route's
 * filters. A trusted proxy is a caller, too: its own fields are removed.
 *
 * <p><b>Limitations.</b> On the general door, Spring Cloud Gateway's filters run before the check. No opaque
 * tokens (RFC 7662), no encrypted tokens, no EdDSA. A key without {@code kid} that is replaced is found at
 * the next regular fetch only. A token that its issuer revokes is accepted until it expires. Certificates of
 * callers are not checked for revocation.
 */
@NullMarked
package io.weir.authentication;

import org.jspecify.annotations.NullMarked;
