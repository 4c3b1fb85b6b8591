package io.weir;

import io.weir.config.check.CommandLine;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The gateway's entry point. */
@SpringBootApplication
public class WeirApplication {

    /** Starts the gateway, or checks configuration files with {@code --validate FILE...}. */
    public static void main(String[] args) {
        CommandLine.run(args, given -> SpringApplication.run(WeirApplication.class, given));
    }
}
