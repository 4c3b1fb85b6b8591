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

    /** Discards all lines. */
    public static final class Discarding implements LineSink {

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

        try (LineSink sink = new LineSink.AppendedFile(file)) {
            write(sink, "one\n");
            write(sink, "two\n");
        }

        assertThat(file).hasContent("before\none\ntwo\n");
    }

    @Test
    void continuesInANewFileAfterARename() throws IOException {
        Path file = directory.resolve("access.log");
        try (LineSink sink = new LineSink.AppendedFile(file)) {
            write(sink, "one\n");
            Path rotated = Files.move(file, directory.resolve("access.log.1"));
            write(sink, "to the renamed file\n");

            sink.check();
            write(sink, "two\n");

            assertThat(rotated).hasContent("one\nto the renamed file\n");
            assertThat(file).hasContent("two\n");
        }
    }

    @Test
    void continuesInAFileThatAnotherProcessCreatedUnderItsName() throws IOException {
        Path file = directory.resolve("access.log");
        try (LineSink sink = new LineSink.AppendedFile(file)) {
            Files.move(file, directory.resolve("access.log.1"));
            Files.writeString(file, "header\n");

            sink.check();
            write(sink, "one\n");

            assertThat(file).hasContent("header\none\n");
        }
    }

    @Test
    void continuesAtTheBeginningOfATruncatedFile() throws IOException {
        Path file = directory.resolve("access.log");
        try (LineSink sink = new LineSink.AppendedFile(file)) {
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
    void keepsAnUnmovedFileOpen() throws IOException {
        Path file = directory.resolve("access.log");
        try (LineSink sink = new LineSink.AppendedFile(file)) {
            write(sink, "one\n");
            sink.check();
            write(sink, "two\n");
        }

        assertThat(file).hasContent("one\ntwo\n");
    }

    @Test
    void continuesOnceADeletedDirectoryIsCreatedAgain() throws IOException {
        Path folder = Files.createDirectory(directory.resolve("logs"));
        Path file = folder.resolve("access.log");
        try (LineSink sink = new LineSink.AppendedFile(file)) {
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
    void beginsANewLineBehindAPartOfALine() throws IOException {
        Path file = Files.writeString(directory.resolve("access.log"), "one\nhalf a li");

        try (LineSink sink = new LineSink.AppendedFile(file)) {
            write(sink, "two\n");
            write(sink, "three\n");
        }

        assertThat(file).hasContent("one\nhalf a li\ntwo\nthree\n");
    }

    @Test
    void beginsANewLineAfterADiskThatWasFull() throws Exception {
        Path file = directory.resolve("access.log");
        Path input = Files.writeString(directory.resolve("input"), "0123456789\n".repeat(1_000));
        // A limit on the size of files breaks off a write as a full disk does.
        Process limited = new ProcessBuilder("bash", "-c", "ulimit -f 1; cat input > access.log")
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        assertThat(limited.waitFor()).as("%s", input).isNotZero();
        String broken = Files.readString(file);
        assertThat(broken).isNotEmpty().doesNotEndWith("\n");

        try (LineSink sink = new LineSink.AppendedFile(file)) {
            write(sink, "one\n");
        }

        assertThat(file).hasContent(broken + "\none\n");
    }

    @Test
    void rejectsAPathThatIsNoFile() {
        assertThatIOException().isThrownBy(() -> new LineSink.AppendedFile(directory));
    }

    @Test
    void writesToASharedStreamAndKeepsItOpen() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream shared = new PrintStream(bytes, false, StandardCharsets.UTF_8);
        try (LineSink sink = new LineSink.SharedStream(shared)) {
            write(sink, "one\n");
            sink.check();
        }
        shared.print("other output");
        shared.flush();

        assertThat(bytes.toString(StandardCharsets.UTF_8)).isEqualTo("one\nother output");
    }

    @Test
    void failsIfASharedStreamIsBroken() {
        LineSink sink = new LineSink.SharedStream(new PrintStream(
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
        byte[] bytes = (line + "beyond the length").getBytes(StandardCharsets.UTF_8);
        sink.write(bytes, line.length());
    }
}
