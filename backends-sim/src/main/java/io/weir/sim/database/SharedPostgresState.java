package io.weir.sim.database;

import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.Optional;
import java.util.Properties;

/**
 * The state that the keeper of the shared PostgreSQL publishes in a file.
 *
 * @param port PostgreSQL's port on loopback
 * @param keeper the keeper's process id
 * @param keeperStarted the keeper's start time; another process may have the same id by now
 */
record SharedPostgresState(int port, long keeper, Instant keeperStarted) {

    private static final String FILE = "postgres.properties";

    /** The state of this process as the keeper. */
    static SharedPostgresState ofThisProcess(int port) {
        ProcessHandle process = ProcessHandle.current();
        return new SharedPostgresState(port, process.pid(), started(process));
    }

    /** Reads the published state; empty if the file is missing or incomplete. */
    static Optional<SharedPostgresState> read(Path directory) {
        Path file = directory.resolve(FILE);
        Properties read = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            read.load(reader);
            return Optional.of(new SharedPostgresState(
                    Integer.parseInt(read.getProperty("port", "")),
                    Long.parseLong(read.getProperty("keeper", "")),
                    Instant.parse(read.getProperty("keeper-started", ""))));
        } catch (IOException | IllegalArgumentException | java.time.format.DateTimeParseException e) {
            // The file is missing or invalid: treat the database as not running.
            return Optional.empty();
        }
    }

    /** Writes the file atomically, since readers hold no lock. */
    void write(Path directory) throws IOException {
        Properties written = new Properties();
        written.setProperty("port", Integer.toString(port));
        written.setProperty("keeper", Long.toString(keeper));
        written.setProperty("keeper-started", keeperStarted.toString());
        written.setProperty("url", location().url());
        Path part = directory.resolve(FILE + ".part");
        try (Writer writer = Files.newBufferedWriter(part)) {
            written.store(writer, "The PostgreSQL that simulated backends on this machine share");
        }
        Files.move(part, directory.resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
    }

    static void delete(Path directory) throws IOException {
        Files.deleteIfExists(directory.resolve(FILE));
    }

    /** The keeper's process, if it still runs. */
    Optional<ProcessHandle> liveKeeper() {
        return ProcessHandle.of(keeper)
                .filter(process -> process.isAlive() && started(process).equals(keeperStarted));
    }

    DatabaseLocation location() {
        return new DatabaseLocation("127.0.0.1", port, PostgresKeeper.DATABASE, PostgresKeeper.USER, "");
    }

    private static Instant started(ProcessHandle process) {
        return process.info().startInstant().orElse(Instant.EPOCH);
    }
}
