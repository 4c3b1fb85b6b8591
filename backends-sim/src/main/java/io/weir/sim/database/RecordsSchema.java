package io.weir.sim.database;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The SQL script that creates the table and its rows, shared by both drivers. */
final class RecordsSchema {

    private RecordsSchema() {}

    /** The script is a single statement: one transaction, and no driver has to split it. */
    static String script() {
        try (InputStream script = RecordsSchema.class.getResourceAsStream("records.sql")) {
            if (script == null) {
                throw new IllegalStateException("records.sql: missing (expected: beside " + RecordsSchema.class + ")");
            }
            return new String(script.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
