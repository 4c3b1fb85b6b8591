package com.example.weir;

import java.util.Locale;
import java.util.Optional;
import org.springframework.http.server.reactive.ServerHttpRequest;

/** The tenant of a request: the first label of its host, such as {@code acme} of {@code acme.example.com}. */
final class Tenant {

    private Tenant() {}

    /** The tenant, in lower case; empty if the host has fewer than three labels. */
    static Optional<String> of(ServerHttpRequest request) {
        String host = request.getURI().getHost();
        if (host == null) {
            return Optional.empty();
        }
        String[] labels = host.split("\\.", 3);
        return labels.length == 3 ? Optional.of(labels[0].toLowerCase(Locale.ROOT)) : Optional.empty();
    }
}
