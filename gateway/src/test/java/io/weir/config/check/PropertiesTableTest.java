package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class PropertiesTableTest {

    private static final Path PAGE = Path.of("..", "config", "reference.md");
    /**
     * {@code mvn test -pl gateway -Dtest=PropertiesTableTest -Dreference=write} regenerates the tables in
     * config/reference.md.
     */
    private static final boolean WRITE = "write".equals(System.getProperty("reference"));

    @Test
    void hasARowForEveryProperty() {
        String table = PropertiesTable.markdown();

        assertThat(table)
                .contains("| `deadline` | `2s` | time for an exchange, ")
                .contains("| `uri` | required | address of the backend: `http://host:port` or ")
                .contains("| `circuit-breaker.record-statuses` | `500`, `502`, `503`, `504` | ")
                .contains("| `circuit-breaker.slow-call-duration-threshold` | the backend's deadline | ")
                .contains("| `circuit-breaker.minimum-number-of-calls` | 20, or the window if that is smaller | ")
                .contains("| `fallback.body` | empty | ")
                .contains("| `edge.max-header-size` | `16KB` | ")
                .doesNotContain("{@code");
        assertThat(table.lines().filter(line -> line.startsWith("| `") && !line.contains("meaning")))
                .hasSize((int) ConfigurationMetadataTest.all().count() - 3);
    }

    @Test
    void isUpToDate() throws IOException {
        String page = Files.readString(PAGE);
        int begin = page.indexOf(PropertiesTable.BEGIN);
        int end = page.indexOf(PropertiesTable.END);

        assertThat(begin).as("%s in %s", PropertiesTable.BEGIN, PAGE).isNotNegative();
        assertThat(end).as("%s in %s", PropertiesTable.END, PAGE).isGreaterThan(begin);
        String current = page.substring(0, begin + PropertiesTable.BEGIN.length())
                + '\n'
                + PropertiesTable.markdown()
                + '\n'
                + page.substring(end);
        if (WRITE) {
            Files.writeString(PAGE, current);
        } else {
            assertThat(page)
                    .as("the tables of properties; -Dreference=write regenerates them")
                    .isEqualTo(current);
        }
    }
}
