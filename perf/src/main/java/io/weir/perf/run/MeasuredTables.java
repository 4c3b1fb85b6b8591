package io.weir.perf.run;

import io.weir.perf.result.KeptTable;
import io.weir.perf.result.PromiseTable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;

/** The tables of scenarios and benchmarks in {@code perf/results}, from which a kept set takes them. */
public final class MeasuredTables {

    private MeasuredTables() {}

    /** Processor, memory, kernel, and cores. */
    public static String machine() {
        return Host.description() + ", " + Runtime.getRuntime().availableProcessors() + " processors";
    }

    /** The commit of the repository in a directory, or that of the property {@code weir.commit}. */
    static String commit(Path root) {
        return System.getProperty("weir.commit", Host.firstLine(root, "git", "describe", "--always", "--dirty"));
    }

    /** Keeps the table of a whole measurement; it replaces an earlier one. */
    public static void keep(String name, String command, PromiseTable promises) {
        String date = LocalDate.now(ZoneOffset.UTC).toString();
        KeptTable table = new KeptTable(name, command, commit(Path.of("")), date, machine(), promises.rows());
        try {
            table.write(Path.of("perf", "results", KeptTable.DIRECTORY));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
