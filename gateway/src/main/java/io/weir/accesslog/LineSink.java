package io.weir.accesslog;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** Where lines go. Used by one thread, which it may hold up. */
interface LineSink extends AutoCloseable {

    /** Writes whole lines. */
    void write(byte[] lines, int length) throws IOException;

    /** Now and then, while nothing is being written: time to see whether the place is still the same. */
    void check() throws IOException;

    @Override
    void close() throws IOException;

    /** Standard output, or whatever stream it is; it is shared with others, and stays open. */
    record Shared(PrintStream out) implements LineSink {

        @Override
        public void write(byte[] lines, int length) throws IOException {
            // In one go: what others print comes before or after, and not in between.
            out.write(lines, 0, length);
            out.flush();
            if (out.checkError()) {
                throw new IOException("standard output cannot be written to");
            }
        }

        @Override
        public void check() {}

        @Override
        public void close() {}
    }

    /**
     * A file that is appended to. It is opened again when another file, or none, has taken its name: so {@code
     * logrotate} needs no signal, and {@code copytruncate} works too, since appending follows the end.
     */
    final class Appended implements LineSink {

        private final Path path;
        private @Nullable OutputStream out;
        private @Nullable Object identity;

        Appended(Path path) throws IOException {
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
            if (out != null && !isStillThere()) {
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

        private boolean isStillThere() throws IOException {
            Object before = identity;
            return before == null || (Files.exists(path) && before.equals(identity(path)));
        }

        private OutputStream open() throws IOException {
            OutputStream opened = Files.newOutputStream(
                    path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
            identity = identity(path);
            out = opened;
            return opened;
        }

        /** The inode; null where the file system has none. */
        private static @Nullable Object identity(Path path) throws IOException {
            return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
        }
    }
}
