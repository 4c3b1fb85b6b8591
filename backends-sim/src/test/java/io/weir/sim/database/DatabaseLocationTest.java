package io.weir.sim.database;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DatabaseLocationTest {

    @Test
    void formatsUrlsForBothDrivers() {
        DatabaseLocation location = DatabaseLocation.parse("postgresql://db.example:5433/weir", "ann", "secret");

        assertThat(location.url()).isEqualTo("postgresql://db.example:5433/weir");
        assertThat(location.jdbcUrl("me")).isEqualTo("jdbc:postgresql://db.example:5433/weir?ApplicationName=me");
        assertThat(location).hasToString("postgresql://db.example:5433/weir as ann");
    }

    @Test
    void portDefaultsTo5432() {
        assertThat(DatabaseLocation.parse("postgresql://db/weir", "ann", "").port())
                .isEqualTo(5432);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:postgresql://db/weir",
                "postgresql://db",
                "postgresql://db/",
                "postgresql://db/a/b",
                "postgresql://ann:secret@db/weir",
                "mysql://db/weir",
                "not a url"
            })
    void refusesOtherFormsAndNamesTheExpectedOne(String url) {
        assertThatThrownBy(() -> DatabaseLocation.parse(url, "ann", ""))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("sim.database.url: " + url + " (expected: postgresql://host:port/database");
    }
}
