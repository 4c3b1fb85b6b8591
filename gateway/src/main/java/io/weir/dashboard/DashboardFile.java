package io.weir.dashboard;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/** A file of the dashboard page, served with restrictive security headers. */
final class DashboardFile {

    /** Permits only the page's own files; no framing, no form targets. */
    static final String POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:;"
            + " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
            + " require-trusted-types-for 'script'";

    /** The place of the endpoints' base path in a file. */
    static final String ENDPOINTS = "{{endpoints}}";

    private final MediaType type;
    private final byte[] content;

    /**
     * A file of the page.
     *
     * @param name the name of the resource
     * @param endpoints base path of the management endpoints, relative to the page
     */
    DashboardFile(String name, MediaType type, String endpoints) {
        this.type = type;
        this.content = read(name).replace(ENDPOINTS, endpoints).getBytes(StandardCharsets.UTF_8);
    }

    Mono<ServerResponse> answer() {
        return ServerResponse.ok()
                .contentType(type)
                .header(HttpHeaders.CACHE_CONTROL, "no-cache")
                .header("Content-Security-Policy", POLICY)
                .header("X-Content-Type-Options", "nosniff")
                .header("X-Frame-Options", "DENY")
                .header("Referrer-Policy", "no-referrer")
                .header("Cross-Origin-Opener-Policy", "same-origin")
                .header("Cross-Origin-Resource-Policy", "same-origin")
                .bodyValue(content);
    }

    /** The text of a resource. */
    static String read(String name) {
        try (InputStream in = DashboardFile.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("resource: " + name + " is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
