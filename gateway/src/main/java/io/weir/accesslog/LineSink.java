package io.weir.accesslog;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** The destination of lines. Used by one thread; may block it. */
interface LineSink extends AutoCloseable {

    /**
     * Writes whole lines.
     *
     * @param lines the lines, followed by unused bytes
     * @param length number of bytes to write
     */
    void write(byte[] lines, int length) throws IOException;

    /** Called about once a second between writes: checks whether the destination is still the same. */
    void check() throws IOException;

    @Override
    void close() throws IOException;

    /** Standard output, or another stream that is shared with other writers; it stays open. */
    record SharedStream(PrintStream out) implements LineSink {

        @Override
        public void write(byte[] lines, int length) throws IOException {
            // One call, so that the output of other writers cannot come between two lines.
            out.write(lines, 0, length);
            out.flush();
            if (out.checkError()) {
                throw new IOException("standard output cannot be written");
            }
        }

        @Override
        public void check() {}

        @Override
        public void close() {}
    }

    /** No destination. */
    record Discarded() implements LineSink {

        @Override
        public void write(byte[] lines, int length) {}

        @Override
        public void check() {}

        @Override
        public void close() {}
    }

    /**
     * A file, opened for appending. It is opened again when it was renamed or deleted. So {@code logrotate}
     * needs no signal; its {@code copytruncate} works too, since an append writes at the present end of the
     * file. It is opened again after a failed write, too. If it ends with a part of a line, as after a full
     * disk or a crash, the next line begins behind a line feed.
     */
    final class AppendedFile implements LineSink {

        private final Path path;
        private @Nullable OutputStream out;
        private @Nullable Object fileKey;

        AppendedFile(Path path) throws IOException {
            this.path = path;
            open();
        }

        @Override
        public void write(byte[] lines, int length) throws IOException {
            OutputStream current = out;
            if (current == null) {
                current = open();
            }
            try {
                current.write(lines, 0, length);
            } catch (IOException e) {
                close();
                throw e;
            }
        }

        @Override
        public void check() throws IOException {
            if (out != null && !isUnmoved()) {
                close();
                open();
            }
        }

        @Override
        public void close() throws IOException {
            OutputStream current = out;
            out = null;
            if (current != null) {
                current.close();
            }
        }

        private boolean isUnmoved() throws IOException {
            Object openedKey = fileKey;
            return openedKey == null || (Files.exists(path) && openedKey.equals(fileKey(path)));
        }

        private OutputStream open() throws IOException {
            OutputStream opened = Files.newOutputStream(
                    path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
            fileKey = fileKey(path);
            if (endsWithinLine(path)) {
                try {
                    opened.write('\n');
                } catch (IOException e) {
                    opened.close();
                    throw e;
                }
            }
            out = opened;
            return opened;
        }

        private static boolean endsWithinLine(Path path) throws IOException {
            // Others, such as a pipe, have no end that could be read.
            if (!Files.isRegularFile(path) || !Files.isReadable(path)) {
                return false;
            }
            try (FileChannel written = FileChannel.open(path, StandardOpenOption.READ)) {
                ByteBuffer last = ByteBuffer.allocate(1);
                return written.size() > 0 && written.read(last, written.size() - 1) == 1 && last.get(0) != '\n';
            }
        }

        /** The inode; null if the file system has none. */
        private static @Nullable Object fileKey(Path path) throws IOException {
            return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
        }
    }
}
