package io.weir.perf.report;

import io.weir.perf.result.InvalidFileException;
import io.weir.perf.result.KeptTable;
import io.weir.perf.result.PromiseTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import tools.jackson.databind.ObjectReader;
import tools.jackson.dataformat.csv.CsvMapper;
import tools.jackson.dataformat.csv.CsvReadFeature;

/** The results of {@code perf/bulkhead}, a CSV file of JMH, as a table. */
final class JmhTable {

    /** Written by JMH: {@code perf/bulkhead} names it. */
    static final String FILE = "bulkhead-jmh.csv";

    /** The commit that was measured, by {@code perf/bulkhead}. */
    private static final String COMMIT = "bulkhead-jmh.commit";

    private static final String HEAD = "Benchmark,Mode,Threads,Samples,Score,Score Error (99.9%),Unit";
    private static final ObjectReader CELLS =
            new CsvMapper().readerForListOf(String.class).with(CsvReadFeature.WRAP_AS_ARRAY);

    private JmhTable() {}

    /** Writes the table beside the file of JMH, if there is one. */
    static void convert(Path directory) throws IOException {
        Path file = directory.resolve(FILE);
        if (Files.exists(file)) {
            String date = Files.getLastModifiedTime(file).toString().substring(0, 10);
            PromiseTable table = parse(Files.readString(file));
            Path made = directory.resolve(COMMIT);
            String commit = Files.exists(made) ? Files.readString(made).strip() : "";
            new KeptTable("bulkhead", "perf/bulkhead", commit, date, "", table.rows()).write(directory);
        }
    }

    static PromiseTable parse(String csv) {
        List<List<String>> lines = CELLS.<List<String>>readValues(csv).readAll();
        List<String> head = lines.isEmpty() ? List.of() : lines.getFirst();
        if (!String.join(",", head).startsWith(HEAD)) {
            throw new InvalidFileException(FILE + ": " + head + " (expected: " + HEAD + ")");
        }
        PromiseTable table = new PromiseTable();
        for (List<String> cells : lines.subList(1, lines.size())) {
            StringBuilder name = new StringBuilder(cells.get(0).replaceAll(".*\\.(\\w+\\.\\w+)$", "$1"));
            name.append(", threads: ").append(cells.get(2));
            for (int i = 7; i < cells.size(); i++) {
                if (!cells.get(i).isEmpty()) {
                    name.append(", ")
                            .append(head.get(i).replace("Param: ", ""))
                            .append(": ")
                            .append(cells.get(i));
                }
            }
            double score = Double.parseDouble(cells.get(4));
            double error = Double.parseDouble(cells.get(5));
            table.add(
                    name.toString(),
                    "",
                    String.format(Locale.ROOT, "%.3g ± %.2g %s", score, error, cells.get(6)),
                    true);
        }
        return table;
    }
}
