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
 * The files that the users of a shared PostgreSQL and its keeper meet at.
 *
 * <p>All three locks are the operating system's, so that a process that is killed lets go of them:
 * <ul>
 *   <li>{@code gate}: one process at a time comes or ends the database;
 *   <li>{@code users}: held shared by every user for as long as it lives; whoever gets it exclusively is alone;
 *   <li>{@code keeper}: held by the one keeper.
 * </ul>
 */
record StateDirectory(Path path) {

    static StateDirectory at(Path path) throws IOException {
        Files.createDirectories(path);
        return new StateDirectory(path.toRealPath());
    }

    /** A lock with the file that it is on. */
    record Held(FileChannel channel, FileLock lock) implements Closeable {

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    Held waitForGate() throws IOException {
        return hold("gate.lock", false);
    }

    Held waitToUse() throws IOException {
        return hold("users.lock", true);
    }

    Held waitToBeAlone() throws IOException {
        return hold("users.lock", false);
    }

    @Nullable
    Held tryToBeAlone() throws IOException {
        return tryHold("users.lock", false);
    }

    @Nullable
    Held tryToUse() throws IOException {
        return tryHold("users.lock", true);
    }

    @Nullable
    Held tryToKeep() throws IOException {
        return tryHold("keeper.lock", false);
    }

    Path data() {
        return path.resolve("data");
    }

    Path log() {
        return path.resolve("postgres.log");
    }

    private Held hold(String name, boolean shared) throws IOException {
        FileChannel channel = open(name);
        try {
            return new Held(channel, channel.lock(0, Long.MAX_VALUE, shared));
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    private @Nullable Held tryHold(String name, boolean shared) throws IOException {
        FileChannel channel = open(name);
        @Nullable FileLock lock = null;
        try {
            lock = channel.tryLock(0, Long.MAX_VALUE, shared);
        } finally {
            if (lock == null) {
                channel.close();
            }
        }
        return lock == null ? null : new Held(channel, lock);
    }

    private FileChannel open(String name) throws IOException {
        return FileChannel.open(
                path.resolve(name), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }
}
