package io.weir.sim.database;

import ch.qos.logback.classic.Level;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.util.FileSystemUtils;

/**
 * The process that owns the shared PostgreSQL. It starts the database, publishes its port, waits until the
 * last user has left, and stops it. It does not poll: it waits for an exclusive file lock of the operating
 * system, and each user holds that lock shared until its process ends.
 */
public final class PostgresKeeper {

    /** The first program argument that selects this class in the simulator's main class. */
    public static final String COMMAND = "keep-postgres";

    /** The last program argument of a keeper that runs until SIGTERM, with users or without. */
    static final String UNTIL_STOPPED = "until-stopped";

    static final String DATABASE = "weir";
    static final String USER = "postgres";

    /** The exit status of a keeper that finds another keeper running. */
    static final int ALREADY_KEPT = 3;

    private static final Logger log = LoggerFactory.getLogger(PostgresKeeper.class);

    /**
     * Seconds that users may continue after the keeper received SIGTERM; Ctrl-C reaches all processes at
     * once.
     */
    private static final int GRACE_SECONDS = 30;

    private static final int LEFTOVER_SECONDS = 5;
    private static final Duration START_TIMEOUT = Duration.ofMinutes(3);

    private final StateDirectory directory;
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch stopped = new CountDownLatch(1);
    private @Nullable EmbeddedPostgres postgres;

    private PostgresKeeper(StateDirectory directory) {
        this.directory = directory;
    }

    /**
     * Runs until the last user has left. Arguments: {@link #COMMAND}, the state directory, the maximum number
     * of connections. With {@link #UNTIL_STOPPED} as the fourth one it prints the URL, as
     * {@code sim.stack=postgres} does, and waits for SIGTERM first. This start takes a fraction of the time
     * of a Spring context.
     */
    public static void main(String[] arguments) {
        if (LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME) instanceof ch.qos.logback.classic.Logger root) {
            root.setLevel(Level.INFO);
        }
        try {
            StateDirectory directory = StateDirectory.at(Path.of(arguments[1]));
            StateDirectory.@Nullable HeldLock keeperLock = directory.tryLockAsKeeper();
            if (keeperLock == null) {
                System.exit(ALREADY_KEPT);
            }
            removeLeftovers(directory);
            PostgresKeeper keeper = new PostgresKeeper(directory);
            // Before the start: a SIGTERM in the middle of it would leave PostgreSQL behind.
            Runtime.getRuntime().addShutdownHook(new Thread(keeper::stopAfterGrace, "keeper-stop"));
            boolean untilStopped = arguments.length > 3 && arguments[3].equals(UNTIL_STOPPED);
            keeper.run(Integer.parseInt(arguments[2]), untilStopped);
        } catch (IOException | SQLException | RuntimeException e) {
            log.error("Cannot run the shared PostgreSQL in {}", arguments[1], e);
            System.exit(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run(int maxConnections, boolean untilStopped) throws IOException, SQLException, InterruptedException {
        try {
            EmbeddedPostgres started = start(directory, maxConnections);
            synchronized (this) {
                postgres = started;
            }
            SharedPostgresState state = SharedPostgresState.ofThisProcess(started.getPort());
            state.write(directory.path());
            if (untilStopped) {
                announce(state.location());
                asked.await();
            }
            awaitLastUser();
        } finally {
            stopped.countDown();
        }
    }

    /** Prints the line for which scripts wait. */
    @SuppressWarnings("SystemOut")
    static void announce(DatabaseLocation location) {
        System.out.println("PostgreSQL is ready at " + location.url());
    }

    private static EmbeddedPostgres start(StateDirectory directory, int maxConnections)
            throws IOException, SQLException {
        EmbeddedPostgres postgres = EmbeddedPostgres.builder()
                .setDataDirectory(directory.data())
                .setCleanDataDirectory(true)
                // EmbeddedPostgres's own hook would stop the database while users still drain.
                .setRegisterShutdownHook(false)
                .setPGStartupWait(START_TIMEOUT)
                .setServerConfig("listen_addresses", "127.0.0.1")
                .setServerConfig("unix_socket_directories", "")
                .setServerConfig("max_connections", Integer.toString(maxConnections))
                .start();
        try (Connection connection = postgres.getPostgresDatabase().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("create database " + DATABASE);
        }
        return postgres;
    }

    /** Removes the state and the database process that a killed keeper left behind. */
    private static void removeLeftovers(StateDirectory directory) throws IOException {
        SharedPostgresState.delete(directory.path());
        Path pidFile = directory.data().resolve("postmaster.pid");
        if (Files.exists(pidFile)) {
            Optional<ProcessHandle> postmaster = Files.readAllLines(pidFile).stream()
                    .findFirst()
                    .flatMap(pid -> ProcessHandle.of(Long.parseLong(pid.strip())))
                    .filter(process -> process.info().command().orElse("").endsWith("postgres"));
            postmaster.ifPresent(PostgresKeeper::stop);
        }
        FileSystemUtils.deleteRecursively(directory.data());
    }

    private static void stop(ProcessHandle postmaster) {
        log.info("Stopping PostgreSQL process {}, whose keeper was killed", postmaster.pid());
        postmaster.destroy();
        try {
            postmaster.onExit().get(LEFTOVER_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            // PostgreSQL still waits for clients of the killed keeper's database.
            postmaster.destroyForcibly();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void awaitLastUser() throws IOException {
        while (true) {
            // Blocks until the last user has released its lock. Check again under the gate: a new user may
            // have come meanwhile.
            directory.lockExclusively().close();
            try (StateDirectory.HeldLock _ = directory.lockGate();
                    StateDirectory.@Nullable HeldLock exclusive = directory.tryLockExclusively()) {
                if (exclusive != null) {
                    stop();
                    return;
                }
            }
        }
    }

    private void stopAfterGrace() {
        asked.countDown();
        try {
            if (!stopped.await(GRACE_SECONDS, TimeUnit.SECONDS)) {
                log.warn("Still in use {} s after SIGTERM; stopping the shared PostgreSQL", GRACE_SECONDS);
                stop();
            }
        } catch (IOException e) {
            log.error("PostgreSQL did not stop", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void stop() throws IOException {
        if (postgres != null) {
            SharedPostgresState.delete(directory.path());
            postgres.close();
            postgres = null;
        }
    }
}
