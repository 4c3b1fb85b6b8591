package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

public class LineSinkTest {

    /** For those whom the lines do not matter to. */
    public static final class Nowhere implements LineSink {

        @Override
        public void write(byte[] lines, int length) {}

        @Override
        public void check() {}

        @Override
        public void close() {}
    }

    @TempDir
    Path directory;

    @Test
    void appendsToAFile() throws IOException {
        Path file = Files.writeString(directory.resolve("access.log"), "before\n");

        try (LineSink sink = new LineSink.Appended(file)) {
            write(sink, "one\n");
            write(sink, "two\n");
        }

        assertThat(file).hasContent("before\none\ntwo\n");
    }

    @Test
    void goesOnInANewFileWhenTheOldOneWasRenamed() throws IOException {
        Path file = directory.resolve("access.log");
        try (LineSink sink = new LineSink.Appended(file)) {
            write(sink, "one\n");
            Path rotated = Files.move(file, directory.resolve("access.log.1"));
            write(sink, "still the old one\n");

            sink.check();
            write(sink, "two\n");

            assertThat(rotated).hasContent("one\nstill the old one\n");
            assertThat(file).hasContent("two\n");
        }
    }

    @Test
    void goesOnInTheFileThatSomebodyElseCreatedUnderItsName() throws IOException {
        Path file = directory.resolve("access.log");
        try (LineSink sink = new LineSink.Appended(file)) {
            Files.move(file, directory.resolve("access.log.1"));
            Files.writeString(file, "header\n");

            sink.check();
            write(sink, "one\n");

            assertThat(file).hasContent("header\none\n");
        }
    }

    @Test
    void goesOnAtTheBeginningOfAFileThatWasTruncated() throws IOException {
        Path file = directory.resolve("access.log");
        try (LineSink sink = new LineSink.Appended(file)) {
            write(sink, "copied\n");
            try (FileChannel truncation = FileChannel.open(file, StandardOpenOption.WRITE)) {
                truncation.truncate(0);
            }

            sink.check();
            write(sink, "one\n");

            assertThat(file).hasContent("one\n");
        }
    }

    @Test
    void staysWithAFileThatIsStillThere() throws IOException {
        Path file = directory.resolve("access.log");
        try (LineSink sink = new LineSink.Appended(file)) {
            write(sink, "one\n");
            sink.check();
            write(sink, "two\n");
        }

        assertThat(file).hasContent("one\ntwo\n");
    }

    @Test
    void comesBackWhenTheDirectoryDoes() throws IOException {
        Path folder = Files.createDirectory(directory.resolve("logs"));
        Path file = folder.resolve("access.log");
        try (LineSink sink = new LineSink.Appended(file)) {
            Files.delete(file);
            Files.delete(folder);
            assertThatIOException().isThrownBy(sink::check);
            assertThatIOException().isThrownBy(() -> write(sink, "lost\n"));

            Files.createDirectory(folder);
            write(sink, "one\n");

            assertThat(file).hasContent("one\n");
        }
    }

    @Test
    void refusesAFileThatCannotBeAppendedTo() {
        assertThatIOException().isThrownBy(() -> new LineSink.Appended(directory));
    }

    @Test
    void writesToASharedStreamAndLeavesItOpen() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream shared = new PrintStream(bytes, false, StandardCharsets.UTF_8);
        try (LineSink sink = new LineSink.Shared(shared)) {
            write(sink, "one\n");
            sink.check();
        }
        shared.print("mine");
        shared.flush();

        assertThat(bytes.toString(StandardCharsets.UTF_8)).isEqualTo("one\nmine");
    }

    @Test
    void saysThatASharedStreamIsBroken() {
        LineSink sink = new LineSink.Shared(new PrintStream(
                new OutputStream() {
                    @Override
                    public void write(int b) throws IOException {
                        throw new IOException("broken pipe");
                    }
                },
                false,
                StandardCharsets.UTF_8));

        assertThatIOException().isThrownBy(() -> write(sink, "one\n"));
    }

    private static void write(LineSink sink, String line) throws IOException {
        byte[] bytes = (line + "not part of it").getBytes(StandardCharsets.UTF_8);
        sink.write(bytes, line.length());
    }
}
