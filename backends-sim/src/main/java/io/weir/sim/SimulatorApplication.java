package io.weir.sim;

import io.weir.sim.database.PostgresKeeper;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;

/** Starts the service that {@code sim.stack} selects. */
@SpringBootApplication(proxyBeanMethods = false)
@ConfigurationPropertiesScan
public class SimulatorApplication {

    public static void main(String[] arguments) {
        if (arguments.length > 0 && arguments[0].equals(PostgresKeeper.COMMAND)) {
            // This process keeps the shared database. It starts no Spring context, so that it is ready
            // quickly.
            PostgresKeeper.main(arguments);
            return;
        }
        SpringApplication.run(SimulatorApplication.class, arguments);
    }
}
