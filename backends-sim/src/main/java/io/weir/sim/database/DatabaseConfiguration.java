package io.weir.sim.database;

import io.weir.sim.stack.Stack;
import io.weir.sim.stack.StackEnvironment;
import io.weir.sim.stack.StartupException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.Environment;

/** Locates the database: an external one by its URL, or the one that the simulators of this machine share. */
@Configuration(proxyBeanMethods = false)
class DatabaseConfiguration {

    /** The database in use. It is released when the context closes, after the pools, which depend on it. */
    static final class Database implements AutoCloseable {
        private final DatabaseLocation location;
        private final SharedPostgres.@Nullable Lease lease;

        private Database(DatabaseLocation location, SharedPostgres.@Nullable Lease lease) {
            this.location = location;
            this.lease = lease;
        }

        @Override
        public void close() {
            if (lease != null) {
                lease.close();
            }
        }
    }

    @Bean
    Database database(DatabaseProperties properties) {
        if (properties.url() == null) {
            SharedPostgres.Lease lease = SharedPostgres.join(properties);
            return new Database(lease.location(), lease);
        }
        try {
            return new Database(
                    DatabaseLocation.parse(properties.url(), properties.username(), properties.password()), null);
        } catch (IllegalArgumentException e) {
            throw new StartupException(String.valueOf(e.getMessage()), "Write the URL in that form.", e);
        }
    }

    @Bean
    DatabaseLocation databaseLocation(Database database) {
        return database.location;
    }

    /** Announces that the process is ready. With {@code sim.stack=postgres} scripts wait for this line. */
    @Configuration(proxyBeanMethods = false)
    static class Announcement {
        private static final Logger log = LoggerFactory.getLogger(Announcement.class);

        private final DatabaseLocation location;
        private final Environment environment;

        Announcement(DatabaseLocation location, Environment environment) {
            this.location = location;
            this.environment = environment;
        }

        @EventListener(ApplicationReadyEvent.class)
        void ready() {
            Stack stack = StackEnvironment.stackOf(environment);
            if (stack == Stack.POSTGRES) {
                PostgresKeeper.announce(location);
            } else {
                log.info(
                        "{} is ready on port {}, faults and meters on port {}, with the database {}",
                        stack.id(),
                        environment.getProperty("local.server.port"),
                        environment.getProperty("local.management.port"),
                        location);
            }
        }
    }
}
