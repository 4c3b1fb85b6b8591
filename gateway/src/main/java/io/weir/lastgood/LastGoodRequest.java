package io.weir.lastgood;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;

/**
 * A request, as its caller has sent it and as the backend sees it.
 *
 * @param target the path and query for the backend
 * @param received the caller's fields
 * @param toBackend the fields for the backend, after all filters
 * @param instanceHost the value of {@code Host} that names the instance and not what the caller asks for
 */
public record LastGoodRequest(
        HttpMethod method, String target, HttpHeaders received, HttpHeaders toBackend, String instanceHost) {

    boolean isHead() {
        return HttpMethod.HEAD.equals(method);
    }
}
