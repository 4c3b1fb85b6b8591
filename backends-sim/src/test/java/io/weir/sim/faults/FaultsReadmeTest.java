package io.weir.sim.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class FaultsReadmeTest {

    @ParameterizedTest
    @EnumSource(FaultKind.class)
    void documentsEveryKindWithItsFields(FaultKind kind) throws IOException {
        List<String> rows = Files.readAllLines(Path.of("README.md")).stream()
                .filter(line -> line.startsWith("| `" + kind.id() + "` |"))
                .toList();

        assertThat(rows).hasSize(1);
        assertThat(kind.fields())
                .allSatisfy(field -> assertThat(rows.getFirst()).contains("`" + field + "`"));
    }
}
