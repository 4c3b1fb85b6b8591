package io.weir;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The gateway's entry point. */
@SpringBootApplication
public class WeirApplication {

    /** Starts the gateway. */
    public static void main(String[] args) {
        SpringApplication.run(WeirApplication.class, args);
    }
}
