package io.weir.authentication;

import com.nimbusds.jose.jwk.JWKSet;
import java.util.List;

/**
 * The keys of an issuer, as fetched.
 *
 * @param keys the public keys for signatures that the gateway can read
 * @param skipped what is wrong with the others
 */
record FetchedKeys(JWKSet keys, List<String> skipped) {}
