package io.weir.outcome;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class ReasonTest {

    @Test
    void hasTheDocumentedWords() {
        Map<String, Integer> words = Arrays.stream(Reason.values())
                .collect(
                        Collectors.toMap(Reason::word, reason -> reason.status().code()));

        assertThat(words)
                .containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                        Map.entry("circuit-open", 503),
                        Map.entry("bulkhead-full", 503),
                        Map.entry("queue-timeout", 503),
                        Map.entry("queue-evicted", 503),
                        Map.entry("gateway-overloaded", 503),
                        Map.entry("shutting-down", 503),
                        Map.entry("unauthorized", 401),
                        Map.entry("forbidden", 403),
                        Map.entry("authorizer-failed", 503),
                        Map.entry("rate-limited", 429),
                        Map.entry("deadline-exceeded", 504),
                        Map.entry("connect-timeout", 504),
                        Map.entry("connect-failed", 502),
                        Map.entry("connection-lost", 502),
                        Map.entry("bad-request", 400),
                        Map.entry("payload-too-large", 413),
                        Map.entry("misdirected", 421),
                        Map.entry("uri-too-long", 414),
                        Map.entry("headers-too-large", 431),
                        Map.entry("client-too-slow", 408),
                        Map.entry("no-route", 404),
                        Map.entry("fault-injected", 500),
                        Map.entry("internal-error", 500),
                        Map.entry("client-closed", 499)));
    }

    @Test
    void findsAReasonByItsWord() {
        for (Reason reason : Reason.values()) {
            assertThat(Reason.of(reason.word())).isSameAs(reason);
        }
        assertThatThrownBy(() -> Reason.of("circuit_open"))
                .hasMessageStartingWith("reason: circuit_open (expected: one of circuit-open, bulkhead-full, ");
    }
}
