package io.weir.sim.database;

import java.nio.file.Path;
import java.time.Duration;

/**
 * A process that only uses the shared database, for {@link SharedPostgresIT}: it starts in a tenth of a
 * simulator's time. As a simulator does, it leaves in a shutdown hook. Argument: the state directory.
 */
final class SharedPostgresUser {

    private SharedPostgresUser() {}

    /** Joins, and runs until a signal. */
    public static void main(String[] arguments) throws InterruptedException {
        SharedPostgres.Lease lease = SharedPostgres.join(properties(Path.of(arguments[0])));
        Runtime.getRuntime().addShutdownHook(new Thread(lease::close, "leave"));
        System.out.println("PostgreSQL is ready at " + lease.location().url());
        Thread.currentThread().join();
    }

    static DatabaseProperties properties(Path directory) {
        return new DatabaseProperties(
                null, "postgres", "", 10, 1, Duration.ofSeconds(5), directory, Duration.ofSeconds(60), 50);
    }
}
