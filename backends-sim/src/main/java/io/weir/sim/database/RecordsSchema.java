package io.weir.sim.database;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The one script that makes the table and its rows, whichever driver runs it. */
final class RecordsSchema {

    private RecordsSchema() {}

    /** A single statement: one transaction, and neither driver has to split it. */
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
