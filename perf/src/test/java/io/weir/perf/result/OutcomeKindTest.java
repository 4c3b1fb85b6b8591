package io.weir.perf.result;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OutcomeKindTest {

    private static final Path GATEWAY = Path.of("..", "gateway", "src", "main");

    @ParameterizedTest
    @CsvSource({
        "success, ANSWERED",
        "fallback, FALLBACK",
        "circuit-open, SHED",
        "client-closed, CALLER",
        "status-404, CALLER",
        "status-503, FAILED",
        "deadline-exceeded, FAILED",
        "timeout, FAILED",
        "reset, FAILED"
    })
    void classifiesOutcomes(String outcome, OutcomeKind kind) {
        assertThat(OutcomeKind.of(outcome)).isEqualTo(kind);
    }

    @Test
    void hasTheColoursOfTheDashboard() throws IOException {
        String style = Files.readString(GATEWAY.resolve("resources/io/weir/dashboard/dashboard.css"));

        for (OutcomeKind kind : OutcomeKind.values()) {
            assertThat(style)
                    .contains("--%s: light-dark(#%06x,"
                            .formatted(
                                    kind.name().toLowerCase(Locale.ROOT),
                                    kind.colour().getRGB() & 0xffffff));
        }
    }

    /** Reads the source: the gateway is not on this class path. */
    @Test
    void classifiesReasonsLikeTheGateway() throws IOException {
        String kinds = Files.readString(GATEWAY.resolve("java/io/weir/engine/ExchangeOutcomes.java"));
        Matcher cases =
                Pattern.compile("case ([A-Z_,\\s]+?) ->\\s+Kind\\.([A-Z]+);").matcher(kinds);
        TreeMap<String, String> ofTheGateway = new TreeMap<>();
        while (cases.find()) {
            for (String reason : cases.group(1).split(",", -1)) {
                ofTheGateway.put(reason.strip().toLowerCase(Locale.ROOT).replace('_', '-'), cases.group(2));
            }
        }

        assertThat(ofTheGateway).containsKeys("circuit-open", "deadline-exceeded", "no-route");
        ofTheGateway.remove("fallback");
        ofTheGateway.remove("other");
        assertThat(ofTheGateway)
                .allSatisfy((word, kind) -> assertThat(OutcomeKind.of(word)).hasToString(kind));
    }

    @Test
    void shadesOutcomesOfOneKindInStackingOrder() {
        assertThat(OutcomeKind.colours(Set.of("timeout", "bulkhead-full", "success", "circuit-open")))
                .containsEntry("success", OutcomeKind.ANSWERED.colour())
                .containsEntry("bulkhead-full", OutcomeKind.SHED.colour())
                .doesNotContainValue(java.awt.Color.WHITE)
                .satisfies(colours -> assertThat(colours.keySet())
                        .containsExactly("success", "bulkhead-full", "circuit-open", "timeout"))
                .satisfies(colours -> assertThat(Set.copyOf(colours.values())).hasSize(4));
    }
}
