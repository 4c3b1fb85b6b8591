package io.weir.wiring;

import io.weir.drain.Drainer;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.core.Ordered;

/**
 * Drains the gateway when the application stops, before Spring stops any bean.
 *
 * <p>It listens for the event that precedes the context's closing. A {@code SmartLifecycle} would also run
 * before the servers stop, but Spring Boot closes the meters on that same event: a meter first used during
 * the drain would not be registered.
 */
final class DrainOnShutdown implements ApplicationListener<ContextClosedEvent>, Ordered {

    private final ApplicationContext context;
    private final Drainer drainer;

    DrainOnShutdown(ApplicationContext context, Drainer drainer) {
        this.context = context;
        this.drainer = drainer;
    }

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE;
    }

    /** Blocks the thread that closes the context until the gateway is drained. */
    @Override
    public void onApplicationEvent(ContextClosedEvent event) {
        // The event of the management port's context, a child that closes later, reaches this listener too.
        if (event.getApplicationContext() == context) {
            drainer.run();
        }
    }
}
