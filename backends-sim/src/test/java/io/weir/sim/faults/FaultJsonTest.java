package io.weir.sim.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.weir.sim.faults.Fault.Effect;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.server.PathContainer;

class FaultJsonTest {

    private final FaultJson documents = new FaultJson();

    private Fault parseSingle(String document) {
        return documents
                .read(document.getBytes(StandardCharsets.UTF_8))
                .faults()
                .getFirst();
    }

    @Test
    void parsesAScriptWithItsSeed() {
        FaultJson.ParsedScript posting = documents.read("""
                {"seed": 42, "script": [
                  {"kind": "hang", "path": "/records/**", "after": "5s", "duration": "15s"},
                  {"kind": "errors", "shares": {"503": 0.2, "500": 0.1}, "probability": 0.5}
                ]}""".getBytes(StandardCharsets.UTF_8));

        assertThat(posting.seed()).isEqualTo(42);
        Fault hang = posting.faults().getFirst();
        assertThat(hang.effect()).isEqualTo(new Effect.HoldUntilHealed());
        assertThat(hang.after()).isEqualTo(Duration.ofSeconds(5));
        assertThat(hang.duration()).isEqualTo(Duration.ofSeconds(15));
        assertThat(hang.matches(PathContainer.parsePath("/records/7"))).isTrue();
        assertThat(hang.matches(PathContainer.parsePath("/delay"))).isFalse();
        Fault errors = posting.faults().getLast();
        assertThat(errors.probability()).isEqualTo(0.5);
        assertThat(errors.effect())
                .asInstanceOf(type(Effect.AnswerErrors.class))
                .satisfies(effect -> assertThat(effect.shares()).isEqualTo(Map.of(500, 0.1, 503, 0.2)));
    }

    @Test
    void parsesASingleFaultAsAScriptWithOneFault() {
        Fault fault = parseSingle("{\"kind\":\"latency\",\"delay\":\"250ms\"}");

        assertThat(fault.effect())
                .isEqualTo(new Effect.AddLatency(new DelayDistribution.Fixed(Duration.ofMillis(250))));
        assertThat(fault.probability()).isEqualTo(1);
        assertThat(fault.after()).isZero();
        assertThat(fault.duration()).isNull();
        assertThat(fault.matches(PathContainer.parsePath("/anything"))).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"kind\":\"latency\",\"distribution\":\"uniform\",\"min\":\"1ms\",\"max\":\"2ms\"}",
                "{\"kind\":\"latency\",\"distribution\":\"log-normal\",\"median\":\"20ms\",\"sigma\":1}",
                "{\"kind\":\"latency\",\"distribution\":\"pareto\",\"scale\":\"20ms\",\"shape\":1.5,\"max\":\"2s\"}",
                "{\"kind\":\"reset\"}",
                "{\"kind\":\"truncate\",\"share\":0}",
                "{\"kind\":\"trickle\",\"bytes\":1,\"interval\":\"1s\"}",
                "{\"kind\":\"slow-start\",\"delay\":\"1s\",\"ramp\":\"1m\"}",
                "{\"kind\":\"cpu\",\"burn\":\"20ms\"}",
                "{\"kind\":\"pool\"}",
                "{\"kind\":\"pool\",\"connections\":3}",
                "{\"kind\":\"lock\",\"row\":3}"
            })
    void parsesEveryKind(String document) {
        assertThat(parseSingle(document).definition().kind())
                .isEqualTo(parseSingle(document).kind().id());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"script\":[{\"kind\":\"hangs\"}]} | script[0].kind | one of latency, errors, hang",
                "{\"script\":[{}]} | script[0].kind | missing",
                "{\"script\":[{\"kind\":\"hang\"},{\"kind\":\"hang\",\"probability\":1.5}]} | script[1].probability | 1.5",
                "{\"kind\":\"hang\",\"probability\":0} | probability | more than 0",
                "{\"kind\":\"hang\",\"probability\":\"NaN\"} | probability | expected",
                "{\"kind\":\"hang\",\"duraton\":\"1s\"} | duraton | nearest: duration",
                "{\"kind\":\"hang\",\"duration\":\"0s\"} | duration | more than 0s",
                "{\"kind\":\"hang\",\"duration\":\"soon\"} | duration | a duration such as 250ms",
                "{\"kind\":\"hang\",\"duration\":15} | duration | a duration such as 250ms",
                "{\"kind\":\"hang\",\"after\":\"-1s\"} | after | 0s or more",
                "{\"kind\":\"hang\",\"path\":\"records\"} | path | begins with /",
                "{\"kind\":\"hang\",\"path\":\"/a/**/b/{c\"} | path | a path pattern",
                "{\"kind\":\"hang\",\"delay\":\"1s\"} | delay | hang takes no field of its own",
                "{\"kind\":\"latency\"} | delay | missing",
                "{\"kind\":\"latency\",\"distribution\":\"normal\"} | distribution | one of fixed, uniform, log-normal, pareto",
                "{\"kind\":\"latency\",\"distribution\":\"uniform\",\"min\":\"2s\",\"max\":\"1s\"} | max | at least min",
                "{\"kind\":\"latency\",\"distribution\":\"log-normal\",\"median\":\"1s\",\"sigma\":9} | sigma | to 5",
                "{\"kind\":\"latency\",\"distribution\":\"pareto\",\"scale\":\"1s\",\"shape\":0} | shape | more than 0",
                "{\"kind\":\"errors\"} | shares | missing",
                "{\"kind\":\"errors\",\"shares\":{\"200\":0.5}} | shares.200 | a status from 400 to 599",
                "{\"kind\":\"errors\",\"shares\":{\"5xx\":0.5}} | shares.5xx | a status from 400 to 599",
                "{\"kind\":\"errors\",\"shares\":{\"500\":-0.5}} | shares.500 | 0 to 1",
                "{\"kind\":\"errors\",\"shares\":{\"500\":0.6,\"503\":0.6}} | shares | together at most 1",
                "{\"kind\":\"truncate\",\"share\":1} | share | less than 1",
                "{\"kind\":\"trickle\",\"bytes\":0} | bytes | 1 to 65536",
                "{\"kind\":\"trickle\",\"bytes\":1.5} | bytes | expected",
                "{\"kind\":\"slow-start\"} | delay | missing",
                "{\"kind\":\"cpu\"} | burn | missing",
                "{\"kind\":\"pool\",\"connections\":0} | connections | 1 to 1000",
                "{\"kind\":\"lock\",\"row\":0} | row | 1 to",
                "{\"seed\":1} | script | missing",
                "{\"script\":{}} | script | expected",
                "[] | document | an object",
                "{\"kind\": | document | no JSON",
                "`` | document | expected",
                "{\"kind\":\"hang\",\"kind\":\"reset\"} | document | Duplicate"
            })
    void refusesInvalidDocumentsByTheirField(String document, String field, String said) {
        assertThatThrownBy(() -> documents.read(document.getBytes(StandardCharsets.UTF_8)))
                .asInstanceOf(type(InvalidFaultException.class))
                .satisfies(problem -> {
                    assertThat(problem.field()).isEqualTo(field);
                    assertThat(problem).hasMessageStartingWith(field + ": ").hasMessageContaining(said);
                });
    }

    @Test
    void refusesAScriptWithTooManyFaults() {
        String hang = "{\"kind\":\"hang\"},";
        String document = "{\"script\":[" + hang.repeat(101).replaceAll(",$", "") + "]}";

        assertThatThrownBy(() -> documents.read(document.getBytes(StandardCharsets.UTF_8)))
                .hasMessage("script: 101 faults (expected: at most 100)");
    }

    @Test
    void writesDurationsInTheFormatItParses() {
        assertThat(documents.write(Map.of("a", Duration.ofMillis(250)))).isEqualTo("{\"a\":\"250ms\"}");
        assertThat(documents.write(Map.of("a", Duration.ofMinutes(2)))).isEqualTo("{\"a\":\"120s\"}");
    }
}
