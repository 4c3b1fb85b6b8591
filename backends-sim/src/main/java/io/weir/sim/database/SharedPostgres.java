package io.weir.sim.database;

import io.weir.sim.stack.StartProblem;
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
 * Coming to, and leaving, the PostgreSQL that the simulated services on one machine share. The design is told in the
 * package's documentation.
 *
 * <p>Concurrency: file locks belong to the process, and closing any file of that name gives up all of them; so within
 * this JVM every step is under one monitor, and the users of one directory share one lock by counting.
 */
final class SharedPostgres {

    private static final Logger log = LoggerFactory.getLogger(SharedPostgres.class);
    private static final int POLL_MILLIS = 20;
    private static final int CONNECT_TIMEOUT_MILLIS = 2_000;
    private static final int LEAVE_TIMEOUT_SECONDS = 15;
    private static final int LEAVE_LOOKS = 100;
    private static final int OTHERS_FOR_CERTAIN = 3;

    /** The lock of this JVM's users, by directory. */
    private static final Map<Path, Users> users = new HashMap<>();

    private static final class Users {
        private final StateDirectory.Held lock;
        private int count = 1;

        private Users(StateDirectory.Held lock) {
            this.lock = lock;
        }
    }

    /** A place in the round of users; the database lives at least until it is closed. */
    static final class Lease implements AutoCloseable {
        private final StateDirectory directory;
        private final SharedState state;
        private boolean left;

        private Lease(StateDirectory directory, SharedState state) {
            this.directory = directory;
            this.state = state;
        }

        DatabaseLocation location() {
            return state.location();
        }

        /** Leaves; the last one sees the database end before it goes, so that nothing is left behind it. */
        @Override
        public void close() {
            synchronized (users) {
                if (!left) {
                    left = true;
                    leave(directory, state);
                }
            }
        }
    }

    private SharedPostgres() {}

    /** Joins the users of the database of that directory, and starts it if nobody is there yet. */
    static Lease join(DatabaseProperties properties) {
        synchronized (users) {
            try {
                StateDirectory directory = StateDirectory.at(properties.stateDirectory());
                // Whoever is first at the gate starts the database; the others wait here until it is up.
                try (StateDirectory.Held _ = directory.waitForGate()) {
                    enter(directory);
                    try {
                        SharedState state = findRunning(directory).orElse(null);
                        if (state == null) {
                            state = start(directory, properties);
                        }
                        return new Lease(directory, state);
                    } catch (IOException | InterruptedException | RuntimeException e) {
                        exit(directory);
                        throw e;
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new StartProblem("interrupted while the shared PostgreSQL was starting", "Start again.", e);
            } catch (IOException e) {
                throw new StartProblem(
                        "the shared PostgreSQL cannot be reached in " + properties.stateDirectory() + ": "
                                + e.getMessage(),
                        "Check that the directory can be written, name another in sim.database.state-dir, or name an"
                                + " outside database in sim.database.url.",
                        e);
            }
        }
    }

    private static void enter(StateDirectory directory) throws IOException {
        @Nullable Users here = users.get(directory.path());
        if (here == null) {
            users.put(directory.path(), new Users(directory.waitToUse()));
        } else {
            here.count++;
        }
    }

    private static void exit(StateDirectory directory) throws IOException {
        @Nullable Users here = users.get(directory.path());
        if (here != null && --here.count == 0) {
            users.remove(directory.path());
            here.lock.close();
        }
    }

    private static Optional<SharedState> findRunning(StateDirectory directory) {
        return SharedState.read(directory.path())
                .filter(state -> state.liveKeeper().isPresent())
                .filter(SharedPostgres::accepts);
    }

    private static boolean accepts(SharedState state) {
        try (Socket socket = new Socket()) {
            socket.connect(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), state.port()), CONNECT_TIMEOUT_MILLIS);
            return true;
        } catch (IOException e) {
            log.info("stale: nothing listens at {} any more", state.location());
            return false;
        }
    }

    private static SharedState start(StateDirectory directory, DatabaseProperties properties)
            throws IOException, InterruptedException {
        if (!ClassUtils.isPresent(
                "io.zonky.test.db.postgres.embedded.EmbeddedPostgres", SharedPostgres.class.getClassLoader())) {
            throw new StartProblem(
                    "no shared PostgreSQL runs in " + directory.path() + ", and this jar carries none",
                    "Start one with the whole simulator, --sim.stack=postgres, or name one in sim.database.url.",
                    null);
        }
        log.info("starting a PostgreSQL for this machine's simulators, in {}", directory.path());
        Process keeper = new ProcessBuilder(keeperCommand(directory.path(), properties.maxConnections()))
                .redirectErrorStream(true)
                .redirectOutput(directory.log().toFile())
                .start();
        long deadline = System.nanoTime() + properties.startTimeout().toNanos();
        while (System.nanoTime() - deadline < 0) {
            Optional<SharedState> running = findRunning(directory);
            if (running.isPresent()) {
                log.info("PostgreSQL is up: {}", running.get().location());
                return running.get();
            }
            if (keeper.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS)
                    && keeper.exitValue() != PostgresKeeper.KEPT_ALREADY) {
                throw failed(directory, "ended with status " + keeper.exitValue());
            }
        }
        keeper.destroy();
        throw failed(directory, "was not up within " + properties.startTimeout());
    }

    private static StartProblem failed(StateDirectory directory, String how) throws IOException {
        List<String> said = Files.readAllLines(directory.log(), StandardCharsets.UTF_8);
        return new StartProblem(
                "the shared PostgreSQL " + how + ". Its last words: "
                        + String.join(System.lineSeparator(), said.subList(Math.max(0, said.size() - 10), said.size())),
                "Read " + directory.log() + ", or name an outside database in sim.database.url.",
                null);
    }

    /** This JVM and class path again, small: the keeper only waits. */
    private static List<String> keeperCommand(Path directory, int maxConnections) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                // Unpacking the binaries takes this once; afterwards it only waits.
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1"));
        String classPath = System.getProperty("java.class.path");
        // In an executable jar the classes are nested, and only its own launcher finds them.
        boolean nested = SharedPostgres.class.getClassLoader() != ClassLoader.getSystemClassLoader();
        if (nested && !classPath.contains(File.pathSeparator)) {
            command.addAll(List.of("-jar", classPath));
        } else {
            command.addAll(List.of("-cp", classPath, PostgresKeeper.class.getName()));
        }
        command.addAll(List.of(PostgresKeeper.COMMAND, directory.toString(), Integer.toString(maxConnections)));
        return command;
    }

    private static void leave(StateDirectory directory, SharedState state) {
        try {
            exit(directory);
            Optional<ProcessHandle> keeper = state.liveKeeper();
            if (keeper.isPresent() && !users.containsKey(directory.path()) && wasLast(directory, keeper.get())) {
                keeper.get().onExit().get(LEAVE_TIMEOUT_SECONDS, TimeUnit.SECONDS);
            }
        } catch (IOException | ExecutionException | TimeoutException e) {
            log.warn("left the shared PostgreSQL in {}, but did not see it end", directory.path(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Whether nobody else uses the database. The keeper too holds the lock for moments, and to the end once it ends the
     * database: that is told from a user by what can be held beside it.
     */
    private static boolean wasLast(StateDirectory directory, ProcessHandle keeper)
            throws IOException, InterruptedException {
        int othersSeen = 0;
        for (int look = 0; look < LEAVE_LOOKS && keeper.isAlive(); look++) {
            try (StateDirectory.@Nullable Held alone = directory.tryToBeAlone()) {
                if (alone != null) {
                    return true;
                }
            }
            try (StateDirectory.@Nullable Held besideOthers = directory.tryToUse()) {
                if (besideOthers != null && ++othersSeen == OTHERS_FOR_CERTAIN) {
                    return false;
                }
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
        return true;
    }
}
