package io.weir.sim.database;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.weir.sim.SimProcess;
import io.weir.sim.stack.StartProblem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The shared database, with processes that come, leave and are killed. */
class SharedPostgresIT {

    private static final String READY = "PostgreSQL is ready at (postgresql://\\S+)";
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    @TempDir
    private Path directory;

    private DatabaseProperties properties() {
        return new DatabaseProperties(
                null, "postgres", "", 10, 1, Duration.ofSeconds(5), directory, Duration.ofSeconds(60), 50);
    }

    private SimProcess process() throws IOException {
        return SimProcess.ofClasses(
                "--sim.stack=postgres", "--sim.database.state-dir=" + directory, "--sim.database.max-connections=50");
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

    private static boolean lives(long process) {
        // One that has ended and that nobody has waited for yet is shown without a command.
        return ProcessHandle.of(process)
                .filter(ProcessHandle::isAlive)
                .flatMap(one -> one.info().command())
                .isPresent();
    }

    @Test
    void outlivesWhoeverStartedItAndEndsWithTheLastWhoLeaves() throws Exception {
        SharedPostgres.Lease lease;
        long postmaster;
        try (SimProcess first = process()) {
            String url = first.says(READY).group(1);
            lease = SharedPostgres.join(properties());
            assertThat(lease.location().url()).isEqualTo(url);
            postmaster = postmaster();

            assertThat(first.terminate()).isEqualTo(143);
        }
        answers(lease.location());
        lease.close();

        // At once: the last one waits for that.
        assertThat(lives(postmaster)).isFalse();
        assertThat(directory.resolve("data")).doesNotExist();
        assertThat(directory.resolve("postgres.properties")).doesNotExist();
    }

    @Test
    void isStartedOnceByWhoeverComesFirst() throws Exception {
        try (SimProcess one = process();
                SimProcess other = process()) {
            String url = one.says(READY).group(1);
            assertThat(other.says(READY).group(1)).isEqualTo(url);
            long postmaster = postmaster();

            one.process().destroy();
            other.process().destroy();
            assertThat(one.process().waitFor(30, TimeUnit.SECONDS)).isTrue();
            assertThat(other.process().waitFor(30, TimeUnit.SECONDS)).isTrue();
            await().atMost(PATIENCE).until(() -> !lives(postmaster));
            assertThat(directory.resolve("data")).doesNotExist();
        }
    }

    @Test
    void endsByItselfWhenItsLastUserIsKilled() throws Exception {
        try (SimProcess only = process()) {
            only.says(READY);
            long postmaster = postmaster();
            assertThat(lives(postmaster)).isTrue();

            only.process().destroyForcibly();

            await().atMost(PATIENCE).until(() -> !lives(postmaster) && !Files.exists(directory.resolve("data")));
        }
    }

    @Test
    void startsAfreshWhenItsKeeperWasKilled() throws Exception {
        SharedPostgres.Lease abandoned = SharedPostgres.join(properties());
        long orphan = postmaster();
        ProcessHandle keeper =
                SharedState.read(directory).orElseThrow().liveKeeper().orElseThrow();
        keeper.destroyForcibly();
        keeper.onExit().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertThat(lives(orphan)).isTrue();

        SharedPostgres.Lease lease = SharedPostgres.join(properties());

        assertThat(postmaster()).isNotEqualTo(orphan);
        await().atMost(PATIENCE).until(() -> !lives(orphan));
        answers(lease.location());
        abandoned.close();
        answers(lease.location());
        lease.close();
        assertThat(directory.resolve("data")).doesNotExist();
    }

    @Test
    void believesNoStateOfAProcessThatIsNotTheKeeperAnyMore() throws Exception {
        // This very process lives, but it did not begin then.
        new SharedState(1, ProcessHandle.current().pid(), Instant.EPOCH.plusSeconds(1)).write(directory);

        try (SharedPostgres.Lease lease = SharedPostgres.join(properties())) {
            assertThat(lease.location().port()).isNotEqualTo(1);
            answers(lease.location());
        }
    }

    @Test
    void saysWhatWentWrongWhenItCannotStart() throws Exception {
        // No data directory can be made where a file stands in the way.
        Files.createDirectory(directory.resolve("data"));
        Files.createFile(directory.resolve("data/occupied"));
        DatabaseProperties impossible = new DatabaseProperties(
                null, "postgres", "", 10, 1, Duration.ofSeconds(5), directory, Duration.ofMillis(1), 50);

        assertThatThrownBy(() -> SharedPostgres.join(impossible))
                .isInstanceOf(StartProblem.class)
                .hasMessageContaining("was not up within PT0.001S");
    }
}
