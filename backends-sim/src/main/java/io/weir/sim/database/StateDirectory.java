package io.weir.sim.database;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * The directory with the files through which a keeper and its users coordinate.
 *
 * <p>All three locks are locks of the operating system, so a killed process releases them:
 * <ul>
 *   <li>{@code gate}: one process at a time joins or stops the database;
 *   <li>{@code users}: each user holds it shared while it runs; a process that gets it exclusively is the
 *       only one;
 *   <li>{@code keeper}: the keeper holds it.
 * </ul>
 */
record StateDirectory(Path path) {

    static StateDirectory at(Path path) throws IOException {
        Files.createDirectories(path);
        return new StateDirectory(path.toRealPath());
    }

    /** A file lock together with its channel. */
    record HeldLock(FileChannel channel, FileLock lock) implements Closeable {

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    HeldLock lockGate() throws IOException {
        return hold("gate.lock", false);
    }

    HeldLock lockAsUser() throws IOException {
        return hold("users.lock", true);
    }

    HeldLock lockExclusively() throws IOException {
        return hold("users.lock", false);
    }

    @Nullable
    HeldLock tryLockExclusively() throws IOException {
        return tryHold("users.lock", false);
    }

    @Nullable
    HeldLock tryLockAsUser() throws IOException {
        return tryHold("users.lock", true);
    }

    @Nullable
    HeldLock tryLockAsKeeper() throws IOException {
        return tryHold("keeper.lock", false);
    }

    Path data() {
        return path.resolve("data");
    }

    Path log() {
        return path.resolve("postgres.log");
    }

    private HeldLock hold(String name, boolean shared) throws IOException {
        FileChannel channel = open(name);
        try {
            return new HeldLock(channel, channel.lock(0, Long.MAX_VALUE, shared));
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    private @Nullable HeldLock tryHold(String name, boolean shared) throws IOException {
        FileChannel channel = open(name);
        @Nullable FileLock lock = null;
        try {
            lock = channel.tryLock(0, Long.MAX_VALUE, shared);
        } finally {
            if (lock == null) {
                channel.close();
            }
        }
        return lock == null ? null : new HeldLock(channel, lock);
    }

    private FileChannel open(String name) throws IOException {
        return FileChannel.open(
                path.resolve(name), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }
}
