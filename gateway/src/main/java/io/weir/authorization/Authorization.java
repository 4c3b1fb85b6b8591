package io.weir.authorization;

import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;

/**
 * The authorization of a request.
 *
 * @param result how it has ended
 * @param granted the fields of the authorizer for the backend; not changed any more
 */
public record Authorization(AuthorizationResult result, HttpHeaders granted) {

    /** An authorization without fields for the backend. */
    public static Authorization without(AuthorizationResult result) {
        return new Authorization(result, EmptyHttpHeaders.INSTANCE);
    }
}
