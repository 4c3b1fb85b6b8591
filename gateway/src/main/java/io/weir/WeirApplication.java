package io.weir;

import io.weir.config.WeirProperties;
import io.weir.config.check.CommandLine;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.context.properties.EnableConfigurationProperties;

/** The gateway's entry point. */
// TlsConfiguration replaces Spring Boot's SSL auto-configuration: it checks bundles before use, and watches
// their files itself.
@SpringBootApplication(exclude = SslAutoConfiguration.class)
@EnableConfigurationProperties(WeirProperties.class)
public class WeirApplication {

    /** Starts the gateway, or checks configuration files with {@code --validate FILE...}. */
    public static void main(String[] args) {
        CommandLine.run(args, given -> {
            StopSignal.exitWithZero();
            EventLoops.choose(Runtime.getRuntime().availableProcessors());
            try {
                SpringApplication.run(WeirApplication.class, given);
            } catch (RuntimeException | Error e) {
                // Spring Boot has logged it.
                System.exit(StartFailure.exitCode(e));
            }
        });
    }
}
