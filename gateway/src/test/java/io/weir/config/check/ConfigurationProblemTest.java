package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.check.ConfigurationDifference.ChangedValue;
import org.junit.jupiter.api.Test;

class ConfigurationProblemTest {

    private static final SourceLocation LINE = SourceLocation.inFile("gateway.yml", 7);

    @Test
    void escapesControlCharactersOfNamesAndValues() {
        assertThat(ConfigurationProblem.expected(LINE, "a.\u001b[2Jb", "x\u0007\ty\u009b", "text"))
                .hasToString("gateway.yml:7: a.\\u001b[2Jb: x\\u0007\\u0009y\\u009b (expected: text)");
        assertThat(new ChangedValue("a", "\u001b[1m", null)).hasToString("a: \\u001b[1m -> (default)");
    }

    @Test
    void joinsLinesAndLeavesOtherCharactersAsTheyAre() {
        assertThat(ConfigurationProblem.of(LINE, "a", "ü\n  ✓ C:\\dir", "why"))
                .hasToString("gateway.yml:7: a: ü ✓ C:\\dir (why)");
    }
}
