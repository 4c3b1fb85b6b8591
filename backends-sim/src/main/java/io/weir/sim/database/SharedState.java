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
 * What the keeper of the shared PostgreSQL tells everybody else, in a file.
 *
 * @param port where PostgreSQL listens, on loopback
 * @param keeper the keeper's process
 * @param keeperStarted when that process began: a number alone could be somebody else's by now
 */
record SharedState(int port, long keeper, Instant keeperStarted) {

    private static final String FILE = "postgres.properties";

    /** What this process, the keeper, has to tell. */
    static SharedState ofThisProcess(int port) {
        ProcessHandle me = ProcessHandle.current();
        return new SharedState(port, me.pid(), started(me));
    }

    /** What is written there, if it is whole. */
    static Optional<SharedState> read(Path directory) {
        Path file = directory.resolve(FILE);
        Properties read = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            read.load(reader);
            return Optional.of(new SharedState(
                    Integer.parseInt(read.getProperty("port", "")),
                    Long.parseLong(read.getProperty("keeper", "")),
                    Instant.parse(read.getProperty("keeper-started", ""))));
        } catch (IOException | IllegalArgumentException | java.time.format.DateTimeParseException e) {
            // Missing, or left by something else: either way there is nothing to be found by it.
            return Optional.empty();
        }
    }

    /** Written whole or not at all: readers hold no lock. */
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

    /** The keeper, if it still lives. */
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
