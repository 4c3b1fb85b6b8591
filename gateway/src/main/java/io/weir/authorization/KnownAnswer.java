package io.weir.authorization;

import io.netty.handler.codec.http.HttpHeaders;
import java.util.Map;

/**
 * An answer of the authorizer that serves further requests. Not changed any more.
 *
 * @param status 2xx: the request is allowed; else the answer is for the caller
 * @param fields the fields for the backend, or the head for the caller
 * @param body the body for the caller
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
public record KnownAnswer(int status, HttpHeaders fields, byte[] body) {

    private static final int BYTES_PER_FIELD = 64;
    private static final int OWN_BYTES = 128;

    /** About the memory that the answer takes. */
    int bytes() {
        int sum = OWN_BYTES + body.length;
        for (Map.Entry<String, String> field : fields.entries()) {
            sum += BYTES_PER_FIELD + field.getKey().length() + field.getValue().length();
        }
        return sum;
    }
}
