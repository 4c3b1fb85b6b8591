package io.weir.testing;

import java.time.Duration;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.http.client.ReactorResourceFactory;

/**
 * Gives a gateway event loops of its own, as the only gateway of a process has them. Gateways that share the
 * JVM's loops end those of the other gateways, servers and callers of a test when they stop.
 */
public final class OwnLoops implements ApplicationContextInitializer<GenericApplicationContext> {

    @Override
    public void initialize(GenericApplicationContext context) {
        context.registerBean(ReactorResourceFactory.class, OwnLoops::resources);
    }

    private static ReactorResourceFactory resources() {
        ReactorResourceFactory resources = new ReactorResourceFactory();
        resources.setUseGlobalResources(false);
        // No caller of the gateway is left, so two seconds, the default, are not needed. Without a quiet
        // period Netty ends a loop that has just run a task before it has closed the loop's connections.
        resources.setShutdownQuietPeriod(Duration.ofMillis(100));
        return resources;
    }
}
