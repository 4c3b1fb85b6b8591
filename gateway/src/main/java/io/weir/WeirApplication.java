package io.weir;

import io.weir.accesslog.QueuedLog;
import io.weir.config.WeirProperties;
import io.weir.config.check.CommandLine;
import io.weir.wiring.CheckedValues;
import io.weir.wiring.ProcessSignals;
import io.weir.wiring.ReactorNettyDefaults;
import io.weir.wiring.StartFailure;
import io.weir.wiring.Wiring;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Import;

/** The gateway's entry point. */
// TlsConfiguration replaces Spring Boot's SSL auto-configuration: it checks bundles before use, and watches
// their files itself.
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration(exclude = SslAutoConfiguration.class)
// Otherwise Spring Boot scans all classes below io.weir for Jackson's mix-ins; there are none.
@AutoConfigurationPackage(basePackages = "io.weir.none")
@EnableConfigurationProperties(WeirProperties.class)
// Not scanned: a scan reads every class below io.weir at each start. It would also find the configuration
// classes by which the check collects Spring Cloud Gateway's factories, and import that auto-configuration
// again.
@Import(Wiring.class)
public class WeirApplication {

    /** Starts the gateway, or checks configuration files with {@code --validate FILE...}. */
    public static void main(String[] args) {
        CommandLine.run(args, (given, checked) -> {
            ProcessSignals.handle();
            ReactorNettyDefaults.set(Runtime.getRuntime().availableProcessors());
            try {
                SpringApplication application = new SpringApplication(WeirApplication.class);
                QueuedLog log = new QueuedLog();
                application.addListeners(log);
                application.addInitializers(new CheckedValues(checked), log);
                application.run(given);
            } catch (RuntimeException | Error e) {
                // Spring Boot has logged it.
                System.exit(StartFailure.exitCode(e));
            }
        });
    }
}
