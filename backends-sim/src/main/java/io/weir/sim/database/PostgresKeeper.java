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
 * The process that owns the shared PostgreSQL: starts it, tells where it is, waits until the last user has left, and
 * ends it. It needs no polling: the exclusive lock that it waits for is the operating system's, and users hold theirs
 * until they end, in whatever way.
 */
public final class PostgresKeeper {

    /** The first argument that makes the simulator's main class this. */
    public static final String COMMAND = "keep-postgres";

    static final String DATABASE = "weir";
    static final String USER = "postgres";

    /** The exit status of a keeper that found another one at work. */
    static final int KEPT_ALREADY = 3;

    private static final Logger log = LoggerFactory.getLogger(PostgresKeeper.class);

    /** How long users may go on after the keeper was told to end: Ctrl-C reaches all processes at the same time. */
    private static final int GRACE_SECONDS = 30;

    private static final int LEFTOVER_SECONDS = 5;
    private static final Duration START_TIMEOUT = Duration.ofSeconds(60);

    private final StateDirectory directory;
    private final EmbeddedPostgres postgres;
    private final CountDownLatch ended = new CountDownLatch(1);

    private PostgresKeeper(StateDirectory directory, EmbeddedPostgres postgres) {
        this.directory = directory;
        this.postgres = postgres;
    }

    /** Runs until the last user has left. Arguments: {@link #COMMAND}, the state directory, connections at most. */
    public static void main(String[] arguments) {
        if (LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME) instanceof ch.qos.logback.classic.Logger root) {
            root.setLevel(Level.INFO);
        }
        try {
            StateDirectory directory = StateDirectory.at(Path.of(arguments[1]));
            StateDirectory.@Nullable Held kept = directory.tryToKeep();
            if (kept == null) {
                System.exit(KEPT_ALREADY);
            }
            removeLeftovers(directory);
            PostgresKeeper keeper = new PostgresKeeper(directory, start(directory, Integer.parseInt(arguments[2])));
            Runtime.getRuntime().addShutdownHook(new Thread(keeper::endAfterGrace, "keeper-end"));
            SharedState.ofThisProcess(keeper.postgres.getPort()).write(directory.path());
            keeper.awaitLastUser();
        } catch (IOException | SQLException | RuntimeException e) {
            log.error("cannot keep a PostgreSQL in {}", arguments[1], e);
            System.exit(1);
        }
    }

    private static EmbeddedPostgres start(StateDirectory directory, int maxConnections)
            throws IOException, SQLException {
        EmbeddedPostgres postgres = EmbeddedPostgres.builder()
                .setDataDirectory(directory.data())
                .setCleanDataDirectory(true)
                // It would end the database under users that are still draining.
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

    /** What a keeper that was killed could not clean up. */
    private static void removeLeftovers(StateDirectory directory) throws IOException {
        SharedState.delete(directory.path());
        Path pidFile = directory.data().resolve("postmaster.pid");
        if (Files.exists(pidFile)) {
            Optional<ProcessHandle> postmaster = Files.readAllLines(pidFile).stream()
                    .findFirst()
                    .flatMap(pid -> ProcessHandle.of(Long.parseLong(pid.strip())))
                    .filter(process -> process.info().command().orElse("").endsWith("postgres"));
            postmaster.ifPresent(PostgresKeeper::end);
        }
        FileSystemUtils.deleteRecursively(directory.data());
    }

    private static void end(ProcessHandle postmaster) {
        log.info("ending PostgreSQL {}, whose keeper was killed", postmaster.pid());
        postmaster.destroy();
        try {
            postmaster.onExit().get(LEFTOVER_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            // It waits for its clients, who believe that it is still theirs.
            postmaster.destroyForcibly();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void awaitLastUser() throws IOException {
        while (true) {
            // Blocks until the last user has let go. A new one may come before the gate is reached, so look again
            // there.
            directory.waitToBeAlone().close();
            try (StateDirectory.Held _ = directory.waitForGate();
                    StateDirectory.@Nullable Held alone = directory.tryToBeAlone()) {
                if (alone != null) {
                    end();
                    return;
                }
            }
        }
    }

    private void endAfterGrace() {
        try {
            if (!ended.await(GRACE_SECONDS, TimeUnit.SECONDS)) {
                log.warn("told to end, and still in use after {} s", GRACE_SECONDS);
                end();
            }
        } catch (IOException e) {
            log.error("PostgreSQL did not end", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void end() throws IOException {
        if (ended.getCount() > 0) {
            SharedState.delete(directory.path());
            postgres.close();
            ended.countDown();
        }
    }
}
