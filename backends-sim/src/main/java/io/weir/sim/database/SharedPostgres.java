package io.weir.sim.database;

import io.weir.sim.stack.StartupException;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.util.ClassUtils;

/**
 * Joins and leaves the PostgreSQL that the simulators of one machine share. The package documentation
 * describes the design.
 *
 * <p>Concurrency: file locks belong to the process, and closing any channel of a file releases all locks on
 * it. So every step in this JVM runs under one monitor, and the users of one directory share one counted
 * lock.
 */
final class SharedPostgres {

    private static final Logger log = LoggerFactory.getLogger(SharedPostgres.class);
    private static final int POLL_MILLIS = 20;
    private static final int CONNECT_TIMEOUT_MILLIS = 2_000;
    private static final int LEAVE_TIMEOUT_SECONDS = 15;
    private static final int LEAVE_CHECKS = 100;
    private static final int SIGHTINGS_OF_OTHERS = 3;

    /** The lock of this JVM's users, by directory. */
    private static final Map<Path, UserLock> users = new HashMap<>();

    private static final class UserLock {
        private final StateDirectory.HeldLock lock;
        private int count = 1;

        private UserLock(StateDirectory.HeldLock lock) {
            this.lock = lock;
        }
    }

    /** One user's claim on the database, which runs at least until the lease is closed. */
    static final class Lease implements AutoCloseable {
        private final StateDirectory directory;
        private final SharedPostgresState state;
        private boolean closed;

        private Lease(StateDirectory directory, SharedPostgresState state) {
            this.directory = directory;
            this.state = state;
        }

        DatabaseLocation location() {
            return state.location();
        }

        /** Leaves. The last user waits until the database has stopped, so that no process remains. */
        @Override
        public void close() {
            synchronized (users) {
                if (!closed) {
                    closed = true;
                    leave(directory, state);
                }
            }
        }
    }

    private SharedPostgres() {}

    /** Joins the users of the database in that directory, and starts the database if it does not run. */
    static Lease join(DatabaseProperties properties) {
        synchronized (users) {
            try {
                StateDirectory directory = StateDirectory.at(properties.stateDirectory());
                // The first process at the gate starts the database; the others wait here until it runs.
                try (StateDirectory.HeldLock _ = directory.lockGate()) {
                    acquireUserLock(directory);
                    try {
                        SharedPostgresState state = findRunning(directory).orElse(null);
                        if (state == null) {
                            state = start(directory, properties);
                        }
                        return new Lease(directory, state);
                    } catch (IOException | InterruptedException | RuntimeException e) {
                        releaseUserLock(directory);
                        throw e;
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new StartupException("interrupted while the shared PostgreSQL was starting", "Start again.", e);
            } catch (IOException e) {
                throw new StartupException(
                        "cannot join the shared PostgreSQL in " + properties.stateDirectory() + ": " + e.getMessage(),
                        "Check that the directory can be written, name another in sim.database.state-dir, or name an"
                                + " external database in sim.database.url.",
                        e);
            }
        }
    }

    private static void acquireUserLock(StateDirectory directory) throws IOException {
        @Nullable UserLock userLock = users.get(directory.path());
        if (userLock == null) {
            users.put(directory.path(), new UserLock(directory.lockAsUser()));
        } else {
            userLock.count++;
        }
    }

    private static void releaseUserLock(StateDirectory directory) throws IOException {
        @Nullable UserLock userLock = users.get(directory.path());
        if (userLock != null && --userLock.count == 0) {
            users.remove(directory.path());
            userLock.lock.close();
        }
    }

    private static Optional<SharedPostgresState> findRunning(StateDirectory directory) {
        return SharedPostgresState.read(directory.path())
                .filter(state -> state.liveKeeper().isPresent())
                .filter(SharedPostgres::acceptsConnections);
    }

    private static boolean acceptsConnections(SharedPostgresState state) {
        try (Socket socket = new Socket()) {
            socket.connect(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), state.port()), CONNECT_TIMEOUT_MILLIS);
            return true;
        } catch (IOException e) {
            log.info("Nothing listens at {}; the recorded state is stale", state.location());
            return false;
        }
    }

    private static SharedPostgresState start(StateDirectory directory, DatabaseProperties properties)
            throws IOException, InterruptedException {
        if (!ClassUtils.isPresent(
                "io.zonky.test.db.postgres.embedded.EmbeddedPostgres", SharedPostgres.class.getClassLoader())) {
            throw new StartupException(
                    "no shared PostgreSQL runs in " + directory.path() + ", and this jar contains none",
                    "Start one with weir-backends-sim.jar --sim.stack=postgres, or name one in sim.database.url.",
                    null);
        }
        log.info("Starting the shared PostgreSQL in {}", directory.path());
        Process keeper = new ProcessBuilder(keeperCommand(directory.path(), properties.maxConnections()))
                .redirectErrorStream(true)
                .redirectOutput(directory.log().toFile())
                .start();
        long deadline = System.nanoTime() + properties.startTimeout().toNanos();
        while (System.nanoTime() - deadline < 0) {
            Optional<SharedPostgresState> running = findRunning(directory);
            if (running.isPresent()) {
                log.info("The shared PostgreSQL runs at {}", running.get().location());
                return running.get();
            }
            if (keeper.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS)
                    && keeper.exitValue() != PostgresKeeper.ALREADY_KEPT) {
                throw startFailure(directory, "ended with status " + keeper.exitValue());
            }
        }
        keeper.destroy();
        throw startFailure(directory, "did not start within " + properties.startTimeout());
    }

    private static StartupException startFailure(StateDirectory directory, String outcome) throws IOException {
        List<String> logLines = Files.readAllLines(directory.log(), StandardCharsets.UTF_8);
        return new StartupException(
                "the shared PostgreSQL " + outcome + ". Last lines of its log: "
                        + String.join(
                                System.lineSeparator(),
                                logLines.subList(Math.max(0, logLines.size() - 10), logLines.size())),
                "Read " + directory.log() + ", or name an external database in sim.database.url.",
                null);
    }

    /** The command line of the keeper: the same JVM and class path with a small heap. */
    private static List<String> keeperCommand(Path directory, int maxConnections) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                // Unpacking PostgreSQL's binaries needs this heap once.
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1"));
        String classPath = System.getProperty("java.class.path");
        // In an executable jar the classes are nested, and only the jar's own launcher finds them.
        boolean nested = SharedPostgres.class.getClassLoader() != ClassLoader.getSystemClassLoader();
        if (nested && !classPath.contains(File.pathSeparator)) {
            command.addAll(List.of("-jar", classPath));
        } else {
            command.addAll(List.of("-cp", classPath, PostgresKeeper.class.getName()));
        }
        command.addAll(List.of(PostgresKeeper.COMMAND, directory.toString(), Integer.toString(maxConnections)));
        return command;
    }

    private static void leave(StateDirectory directory, SharedPostgresState state) {
        try {
            releaseUserLock(directory);
            Optional<ProcessHandle> keeper = state.liveKeeper();
            if (keeper.isPresent() && !users.containsKey(directory.path()) && isLastUser(directory, keeper.get())) {
                keeper.get().onExit().get(LEAVE_TIMEOUT_SECONDS, TimeUnit.SECONDS);
            }
        } catch (IOException | ExecutionException | TimeoutException e) {
            log.warn("Left the shared PostgreSQL in {}, but it did not stop in time", directory.path(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Whether this process was the last user. The keeper too holds the lock exclusively: for moments, and at
     * the end until the database has stopped. A shared lock succeeds beside other users, but not beside the
     * keeper.
     */
    private static boolean isLastUser(StateDirectory directory, ProcessHandle keeper)
            throws IOException, InterruptedException {
        int sightings = 0;
        for (int check = 0; check < LEAVE_CHECKS && keeper.isAlive(); check++) {
            try (StateDirectory.@Nullable HeldLock alone = directory.tryLockExclusively()) {
                if (alone != null) {
                    return true;
                }
            }
            try (StateDirectory.@Nullable HeldLock besideOthers = directory.tryLockAsUser()) {
                if (besideOthers != null && ++sightings == SIGHTINGS_OF_OTHERS) {
                    return false;
                }
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
        return true;
    }
}
