package io.weir.cors;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CorsRuleTest {

    private static final String SHOP = "https://shop.example";

    private static CorsRule rule(List<String> origins, List<String> patterns, boolean allowCredentials) {
        return new CorsRule(new CorsProperties(
                origins,
                patterns,
                List.of("GET", "PUT"),
                List.of("content-type", "x-trace"),
                List.of("Retry-After"),
                allowCredentials,
                Duration.ofMinutes(30)));
    }

    private static HttpHeaders fields(String... pairs) {
        HttpHeaders fields = new DefaultHttpHeaders();
        for (int i = 0; i < pairs.length; i += 2) {
            fields.add(pairs[i], pairs[i + 1]);
        }
        return fields;
    }

    private static Map<String, String> written(CorsRule rule, HttpHeaders request, HttpHeaders backend) {
        rule.write(request, backend);
        return map(backend);
    }

    private static Map<String, String> map(HttpHeaders fields) {
        return fields.names().stream()
                .collect(java.util.stream.Collectors.toMap(
                        name -> name.toLowerCase(java.util.Locale.ROOT),
                        name -> String.join(", ", fields.getAll(name))));
    }

    @Test
    void answersAnAllowedOriginByName() {
        assertThat(written(rule(List.of(SHOP), List.of(), true), fields("Origin", SHOP), fields("Vary", "Accept")))
                .isEqualTo(Map.of(
                        "vary", "Accept, origin",
                        "access-control-allow-origin", SHOP,
                        "access-control-allow-credentials", "true",
                        "access-control-expose-headers", "Retry-After"));
    }

    @Test
    void tellsOtherOriginsNothing() {
        CorsRule rule = rule(List.of(SHOP), List.of(), true);

        assertThat(written(rule, fields("Origin", "https://evil.example"), fields()))
                .isEqualTo(Map.of("vary", "origin"));
        assertThat(written(rule, fields("Origin", "null"), fields())).isEqualTo(Map.of("vary", "origin"));
        assertThat(written(rule, fields("Origin", SHOP + ".evil.example"), fields()))
                .isEqualTo(Map.of("vary", "origin"));
    }

    @Test
    void variesByOriginAlsoWithoutOne() {
        assertThat(written(rule(List.of(SHOP), List.of(), false), fields(), fields()))
                .isEqualTo(Map.of("vary", "origin"));
        assertThat(written(rule(List.of(SHOP), List.of(), false), fields(), fields("Vary", "Accept, Origin")))
                .as("not doubled")
                .isEqualTo(Map.of("vary", "Accept, Origin"));
        assertThat(written(rule(List.of(SHOP), List.of(), false), fields(), fields("Vary", "*")))
                .isEqualTo(Map.of("vary", "*"));
    }

    @Test
    void sendsTheWildcardToEverybodyWithoutVary() {
        CorsRule rule = rule(List.of("*"), List.of(), false);

        assertThat(written(rule, fields(), fields()))
                .containsEntry("access-control-allow-origin", "*")
                .doesNotContainKey("vary");
        assertThat(written(rule, fields("Origin", SHOP), fields()))
                .containsEntry("access-control-allow-origin", "*")
                .doesNotContainKey("vary");
    }

    @Test
    void matchesPatternsOfWholeOrigins() {
        CorsRule rule = rule(List.of(), List.of("https://*.shop.example"), true);

        assertThat(written(rule, fields("Origin", "https://m.shop.example"), fields()))
                .containsEntry("access-control-allow-origin", "https://m.shop.example");
        assertThat(written(rule, fields("Origin", "https://m.shop.example.evil.example"), fields()))
                .doesNotContainKey("access-control-allow-origin");
        assertThat(written(rule, fields("Origin", "http://m.shop.example"), fields()))
                .doesNotContainKey("access-control-allow-origin");
    }

    @Test
    void replacesTheBackendsFields() {
        HttpHeaders backend = fields(
                "Access-Control-Allow-Origin", "*",
                "Access-Control-Allow-Credentials", "true",
                "Access-Control-Expose-Headers", "X-Secret",
                "Access-Control-Allow-Methods", "DELETE");

        assertThat(written(rule(List.of(SHOP), List.of(), false), fields("Origin", SHOP), backend))
                .isEqualTo(Map.of(
                        "vary", "origin",
                        "access-control-allow-origin", SHOP,
                        "access-control-expose-headers", "Retry-After"));
    }

    private static HttpHeaders preflight(String origin, String method, String... headers) {
        HttpHeaders request = fields("Origin", origin, "Access-Control-Request-Method", method);
        for (String field : headers) {
            request.add("Access-Control-Request-Headers", field);
        }
        return request;
    }

    @Test
    void answersAPreflightRequest() {
        HttpHeaders answer = fields();

        assertThat(rule(List.of(SHOP), List.of(), true)
                        .answerPreflight(preflight(SHOP, "PUT", "X-Trace", "content-type"), answer))
                .isNull();

        assertThat(map(answer))
                .isEqualTo(Map.of(
                        "access-control-allow-origin", SHOP,
                        "access-control-allow-methods", "GET, PUT",
                        "access-control-allow-headers", "X-Trace, content-type",
                        "access-control-allow-credentials", "true",
                        "access-control-max-age", "1800",
                        "vary", "origin, access-control-request-method, access-control-request-headers"));
    }

    @Test
    void refusesOtherPreflightRequestsAndWritesNothing() {
        CorsRule rule = rule(List.of(SHOP), List.of(), false);
        HttpHeaders answer = fields();

        assertThat(rule.answerPreflight(preflight("https://evil.example", "GET"), answer))
                .isEqualTo("origin: not allowed");
        assertThat(rule.answerPreflight(preflight(SHOP, "DELETE"), answer))
                .isEqualTo("access-control-request-method: not allowed");
        assertThat(rule.answerPreflight(preflight(SHOP, "PUT", "X-Other, X-More"), answer))
                .isEqualTo("access-control-request-headers: not allowed");
        assertThat(answer).isEmpty();

        assertThat(rule.answerPreflight(preflight(SHOP, "PUT", "X-Trace, X-Other"), answer))
                .isNull();
        assertThat(answer.get("Access-Control-Allow-Headers"))
                .as("the browser refuses the rest")
                .isEqualTo("X-Trace");
    }

    @Test
    void tellsPreflightRequestsFromOthers() {
        assertThat(CorsRule.isPreflight(HttpMethod.OPTIONS, preflight(SHOP, "PUT")))
                .isTrue();
        assertThat(CorsRule.isPreflight(HttpMethod.GET, preflight(SHOP, "PUT"))).isFalse();
        assertThat(CorsRule.isPreflight(HttpMethod.OPTIONS, fields("Origin", SHOP)))
                .isFalse();
    }
}
