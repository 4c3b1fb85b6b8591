package io.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.outcome.Reason;
import java.util.Objects;
import tools.jackson.databind.JsonNode;

/** Asserts the common properties of the gateway's own answers, in the answer, the metrics and the log. */
public final class Refusals {

    private Refusals() {}

    /** Asserts that an answer has the status and the fields of its reason. */
    public static void assertRefused(TestCaller.Answer answer, Reason reason) {
        int status = reason.status().code();
        assertThat(answer.status()).as("status of %s", answer.text()).isEqualTo(status);
        assertThat(answer.header("content-type")).isEqualTo("application/problem+json");
        JsonNode problem = answer.problem();
        assertThat(problem.path("type").asString()).isEqualTo("urn:weir:" + reason.word());
        assertThat(problem.path("title").asString()).isEqualTo(reason.title());
        assertThat(problem.path("status").asInt()).isEqualTo(status);
        assertThat(answer.header("proxy-status"))
                .isEqualTo("weir; error=" + reason.proxyError() + "; details=\"" + reason.word() + "\"");
        assertThat(answer.header("cache-control")).isEqualTo("no-store");
        assertThat(answer.header("x-request-id")).isNotEmpty();
        assertThat(problem.path("request-id").asString()).isEqualTo(answer.header("x-request-id"));
        if (status == 503 || status == 429) {
            int millis = problem.path("retry-after-ms").asInt();
            // The time until a quota returns has no upper limit.
            assertThat(millis).as("retry-after-ms").isBetween(1_000, status == 503 ? 30_000 : Integer.MAX_VALUE);
            assertThat(Integer.parseInt(Objects.requireNonNull(answer.header("retry-after"), "retry-after")))
                    .isEqualTo((millis + 999) / 1000);
        } else {
            assertThat(answer.header("retry-after")).isNull();
            assertThat(problem.has("retry-after-ms")).isFalse();
        }
    }

    /** Asserts the same, and that meter and access log agree. Returns the line of the log. */
    public static JsonNode assertRefused(
            TestGateway gateway, Door door, String route, String path, TestCaller.Answer answer, Reason reason) {
        assertRefused(answer, reason);
        JsonNode line = gateway.assertTold(door, route, path, reason.status().code(), reason.word());
        assertThat(line.path("request_id").asString()).isEqualTo(answer.header("x-request-id"));
        assertThat(line.path("bytes").asInt()).as("%s", line).isEqualTo(answer.body().length);
        return line;
    }
}
