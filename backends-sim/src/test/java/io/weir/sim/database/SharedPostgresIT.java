package io.weir.sim.database;

import static io.weir.sim.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.weir.sim.SimulatorProcess;
import io.weir.sim.stack.StartupException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The shared database with processes that join, leave and are killed. */
class SharedPostgresIT {

    private static final String READY = "PostgreSQL is ready at (postgresql://\\S+)";

    @TempDir
    private Path directory;

    private DatabaseProperties properties() {
        return SharedPostgresUser.properties(directory);
    }

    private SimulatorProcess process() throws IOException {
        return SimulatorProcess.ofClass(SharedPostgresUser.class, directory.toString());
    }

    private static void answers(DatabaseLocation location) throws SQLException {
        try (Connection connection =
                DriverManager.getConnection(location.jdbcUrl("test"), location.username(), location.password())) {
            assertThat(connection.isValid(5)).isTrue();
        }
    }

    private long postmaster() throws IOException {
        return Long.parseLong(Files.readAllLines(directory.resolve("data/postmaster.pid"))
                .getFirst()
                .strip());
    }

    private static boolean isRunning(long process) {
        // A process that has ended but was not yet reaped has no command.
        return ProcessHandle.of(process)
                .filter(ProcessHandle::isAlive)
                .flatMap(one -> one.info().command())
                .isPresent();
    }

    @Test
    @Tag("full")
    void outlivesItsStarterAndStopsWithTheLastUser() throws Exception {
        SharedPostgres.Lease lease;
        long postmaster;
        try (SimulatorProcess first = process()) {
            String url = first.awaitOutput(READY).group(1);
            lease = SharedPostgres.join(properties());
            assertThat(lease.location().url()).isEqualTo(url);
            postmaster = postmaster();

            assertThat(first.terminate()).isEqualTo(143);
        }
        answers(lease.location());
        lease.close();

        // No waiting: the last user waits until the database has stopped.
        assertThat(isRunning(postmaster)).isFalse();
        assertThat(directory.resolve("data")).doesNotExist();
        assertThat(directory.resolve("postgres.properties")).doesNotExist();
    }

    @Test
    @Tag("full")
    void startsOnceForTwoConcurrentUsers() throws Exception {
        try (SimulatorProcess one = process();
                SimulatorProcess other = process()) {
            String url = one.awaitOutput(READY).group(1);
            assertThat(other.awaitOutput(READY).group(1)).isEqualTo(url);
            long postmaster = postmaster();

            one.process().destroy();
            other.process().destroy();
            assertThat(one.process().waitFor(PATIENCE)).isTrue();
            assertThat(other.process().waitFor(PATIENCE)).isTrue();
            await().atMost(PATIENCE).until(() -> !isRunning(postmaster));
            assertThat(directory.resolve("data")).doesNotExist();
        }
    }

    @Test
    @Tag("full")
    void stopsWhenItsLastUserIsKilled() throws Exception {
        try (SimulatorProcess only = process()) {
            only.awaitOutput(READY);
            long postmaster = postmaster();
            assertThat(isRunning(postmaster)).isTrue();

            only.process().destroyForcibly();

            await().atMost(PATIENCE).until(() -> !isRunning(postmaster) && !Files.exists(directory.resolve("data")));
        }
    }

    @Test
    @Tag("full")
    void runsWithoutUsersUntilItsKeeperIsTerminated() throws Exception {
        try (SimulatorProcess keeper = SimulatorProcess.ofKeeper(directory)) {
            String url = keeper.awaitOutput(READY).group(1);
            long postmaster = postmaster();
            SharedPostgres.join(properties()).close();
            answers(DatabaseLocation.parse(url, "postgres", ""));

            assertThat(keeper.terminate()).isEqualTo(143);

            assertThat(isRunning(postmaster)).isFalse();
            assertThat(directory.resolve("data")).doesNotExist();
        }
    }

    @Test
    @Tag("full")
    void startsANewDatabaseAfterItsKeeperWasKilled() throws Exception {
        SharedPostgres.Lease abandoned = SharedPostgres.join(properties());
        long orphan = postmaster();
        ProcessHandle keeper =
                SharedPostgresState.read(directory).orElseThrow().liveKeeper().orElseThrow();
        keeper.destroyForcibly();
        keeper.onExit().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertThat(isRunning(orphan)).isTrue();

        SharedPostgres.Lease lease = SharedPostgres.join(properties());

        assertThat(postmaster()).isNotEqualTo(orphan);
        await().atMost(PATIENCE).until(() -> !isRunning(orphan));
        answers(lease.location());
        abandoned.close();
        answers(lease.location());
        lease.close();
        assertThat(directory.resolve("data")).doesNotExist();
    }

    @Test
    @Tag("full")
    void ignoresStateOfAProcessThatIsNotTheKeeper() throws Exception {
        // This process runs, but its start time is different.
        new SharedPostgresState(1, ProcessHandle.current().pid(), Instant.EPOCH.plusSeconds(1)).write(directory);

        try (SharedPostgres.Lease lease = SharedPostgres.join(properties())) {
            assertThat(lease.location().port()).isNotEqualTo(1);
            answers(lease.location());
        }
    }

    @Test
    void reportsTheCauseWhenItCannotStart() throws Exception {
        // The keeper cannot be ready within a millisecond.
        Files.createDirectory(directory.resolve("data"));
        Files.createFile(directory.resolve("data/occupied"));
        DatabaseProperties impossible = new DatabaseProperties(
                null, "postgres", "", 10, 1, Duration.ofSeconds(5), directory, Duration.ofMillis(1), 50);

        assertThatThrownBy(() -> SharedPostgres.join(impossible))
                .isInstanceOf(StartupException.class)
                .hasMessageContaining("did not start within PT0.001S");
    }
}
