package io.weir.cors;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.util.StringUtils;
import org.springframework.web.cors.CorsConfiguration;

/** The CORS fields of a route's responses, and the answers to its preflight requests. Immutable. */
public final class CorsRule {

    private static final String TRUE = "true";
    private static final List<CharSequence> RESPONSE_FIELDS = List.of(
            HttpHeaderNames.ACCESS_CONTROL_ALLOW_ORIGIN,
            HttpHeaderNames.ACCESS_CONTROL_ALLOW_CREDENTIALS,
            HttpHeaderNames.ACCESS_CONTROL_ALLOW_METHODS,
            HttpHeaderNames.ACCESS_CONTROL_ALLOW_HEADERS,
            HttpHeaderNames.ACCESS_CONTROL_EXPOSE_HEADERS,
            HttpHeaderNames.ACCESS_CONTROL_MAX_AGE);

    private final CorsConfiguration configuration;
    private final boolean allowsAnyOrigin;
    private final String exposedHeaders;
    private final boolean allowsCredentials;
    private final String maxAgeSeconds;

    /** The rule of a route. */
    public CorsRule(CorsProperties properties) {
        CorsConfiguration spring = new CorsConfiguration();
        spring.setAllowedOrigins(properties.allowedOrigins());
        spring.setAllowedOriginPatterns(properties.allowedOriginPatterns());
        spring.setAllowedMethods(properties.allowedMethods());
        spring.setAllowedHeaders(properties.allowedHeaders());
        spring.setAllowCredentials(properties.allowCredentials());
        this.configuration = spring;
        this.allowsAnyOrigin = properties.allowedOrigins().contains(CorsConfiguration.ALL);
        this.exposedHeaders = String.join(", ", properties.exposedHeaders());
        this.allowsCredentials = properties.allowCredentials();
        this.maxAgeSeconds = Long.toString(properties.maxAge().toSeconds());
    }

    /** Whether a request asks for permission to send another one. */
    public static boolean isPreflight(io.netty.handler.codec.http.HttpMethod method, HttpHeaders request) {
        return io.netty.handler.codec.http.HttpMethod.OPTIONS.equals(method)
                && request.contains(HttpHeaderNames.ORIGIN)
                && request.contains(HttpHeaderNames.ACCESS_CONTROL_REQUEST_METHOD);
    }

    /** The method that a preflight request asks for; null: it asks for none. */
    public static @Nullable String requestedMethod(HttpHeaders request) {
        String method = request.get(HttpHeaderNames.ACCESS_CONTROL_REQUEST_METHOD);
        return StringUtils.hasText(method) ? method.strip() : null;
    }

    /** Writes the fields of a response to a request, in place of the backend's. */
    public void write(HttpHeaders request, HttpHeaders response) {
        RESPONSE_FIELDS.forEach(response::remove);
        if (allowsAnyOrigin) {
            response.set(HttpHeaderNames.ACCESS_CONTROL_ALLOW_ORIGIN, CorsConfiguration.ALL);
        } else {
            addVary(response, HttpHeaderNames.ORIGIN.toString());
            String allowed = configuration.checkOrigin(request.get(HttpHeaderNames.ORIGIN));
            if (allowed == null) {
                return;
            }
            response.set(HttpHeaderNames.ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        }
        if (allowsCredentials) {
            response.set(HttpHeaderNames.ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
        }
        if (!exposedHeaders.isEmpty()) {
            response.set(HttpHeaderNames.ACCESS_CONTROL_EXPOSE_HEADERS, exposedHeaders);
        }
    }

    /**
     * Answers a preflight request: writes the fields of its response.
     *
     * @return the reason why the request that it asks for is not allowed; null: it is allowed
     */
    public @Nullable String answerPreflight(HttpHeaders request, HttpHeaders response) {
        String origin = configuration.checkOrigin(request.get(HttpHeaderNames.ORIGIN));
        if (origin == null) {
            return "origin: not allowed";
        }
        String method = Objects.requireNonNullElse(requestedMethod(request), "");
        List<HttpMethod> methods = configuration.checkHttpMethod(HttpMethod.valueOf(method));
        if (methods == null) {
            return "access-control-request-method: not allowed";
        }
        List<String> requested = request.getAll(HttpHeaderNames.ACCESS_CONTROL_REQUEST_HEADERS).stream()
                .flatMap(field -> Arrays.stream(StringUtils.tokenizeToStringArray(field, ",")))
                .toList();
        List<String> headers = configuration.checkHeaders(requested);
        if (headers == null) {
            return "access-control-request-headers: not allowed";
        }
        response.set(HttpHeaderNames.ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.set(
                HttpHeaderNames.ACCESS_CONTROL_ALLOW_METHODS,
                String.join(", ", methods.stream().map(HttpMethod::name).toList()));
        if (!headers.isEmpty()) {
            response.set(HttpHeaderNames.ACCESS_CONTROL_ALLOW_HEADERS, String.join(", ", headers));
        }
        if (allowsCredentials) {
            response.set(HttpHeaderNames.ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
        }
        response.set(HttpHeaderNames.ACCESS_CONTROL_MAX_AGE, maxAgeSeconds);
        addVary(response, HttpHeaderNames.ORIGIN.toString());
        addVary(response, HttpHeaderNames.ACCESS_CONTROL_REQUEST_METHOD.toString());
        addVary(response, HttpHeaderNames.ACCESS_CONTROL_REQUEST_HEADERS.toString());
        return null;
    }

    /** Adds the name of a request field to {@code Vary}, unless it is there. */
    private static void addVary(HttpHeaders response, String name) {
        if (!response.containsValue(HttpHeaderNames.VARY, name, true)
                && !response.containsValue(HttpHeaderNames.VARY, CorsConfiguration.ALL, true)) {
            List<String> known = response.getAll(HttpHeaderNames.VARY);
            response.set(HttpHeaderNames.VARY, known.isEmpty() ? name : String.join(", ", known) + ", " + name);
        }
    }
}
