package io.weir.perf;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Spring Cloud Gateway in its usual configuration: one route with its CircuitBreaker filter. */
@SpringBootApplication
public class PlainGateway {

    static void start(String... properties) {
        var unused = SpringApplication.run(PlainGateway.class, properties);
    }
}
