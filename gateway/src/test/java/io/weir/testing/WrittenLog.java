package io.weir.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The lines that a gateway has written to its access log. */
final class WrittenLog {

    private final Path file;
    private final List<Line> lines = new ArrayList<>();
    private long bytesRead;

    /** A line, as it was written and parsed. */
    private record Line(String text, JsonNode node) {}

    WrittenLog(Path file) {
        this.file = file;
    }

    /** The lines so far that contain a text. */
    synchronized List<JsonNode> lines(String text) {
        try {
            read();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return lines.stream()
                .filter(line -> line.text().contains(text))
                .map(Line::node)
                .toList();
    }

    /** Adds the lines that have been written since the last call: tests ask every few milliseconds. */
    private void read() throws IOException {
        if (!Files.exists(file)) {
            return;
        }
        try (SeekableByteChannel log = Files.newByteChannel(file)) {
            log.position(bytesRead);
            byte[] written = Channels.newInputStream(log).readAllBytes();
            int whole = written.length;
            // The last line may be incomplete: the kernel shows a write page by page.
            while (whole > 0 && written[whole - 1] != '\n') {
                whole--;
            }
            bytesRead += whole;
            new String(written, 0, whole, StandardCharsets.UTF_8)
                    .lines()
                    .map(line -> new Line(line, JsonMapper.shared().readTree(line)))
                    .forEach(lines::add);
        }
    }
}
