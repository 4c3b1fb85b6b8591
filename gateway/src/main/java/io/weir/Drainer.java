package io.weir;

import io.weir.drain.Drain;
import io.weir.drain.Drain.Phase;
import io.weir.drain.DrainProperties;
import io.weir.engine.Engine;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.core.Ordered;

/**
 * Takes the gateway through its drain when the application stops, before anything else is stopped.
 *
 * <p>On the event that the context is about to be closed, and not as a {@code SmartLifecycle}, which would be stopped before the servers too:
 * Spring Boot closes the meters on that event, and what first happens while draining would never be metered.
 */
final class Drainer implements ApplicationListener<ContextClosedEvent>, Ordered {

    private static final Logger log = LoggerFactory.getLogger(Drainer.class);
    private static final Duration POLL = Duration.ofMillis(10);
    /** For the answers of those that are ended to be taken. */
    private static final Duration LAST_WORDS = Duration.ofSeconds(1);

    private final ApplicationContext context;
    private final Drain drain;
    private final DrainProperties properties;
    private final Engine engine;
    private final Runnable announced;
    private final Runnable drained;

    /**
     * The drain of an engine.
     *
     * @param announced asks callers to come back on other connections
     * @param drained stops what would keep the event loops busy
     */
    Drainer(
            ApplicationContext context,
            Drain drain,
            DrainProperties properties,
            Engine engine,
            Runnable announced,
            Runnable drained) {
        this.context = context;
        this.drain = drain;
        this.properties = properties;
        this.engine = engine;
        this.announced = announced;
        this.drained = drained;
    }

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE;
    }

    /** On the thread that closes the context, which is to wait. */
    @Override
    public void onApplicationEvent(ContextClosedEvent event) {
        // The management port's context, closed after this one, tells it too.
        if (event.getApplicationContext() == context) {
            drain();
        }
    }

    private void drain() {
        log.info("Draining: not ready any more, serving for {}", properties.delay());
        drain.enter(Phase.ANNOUNCED);
        AvailabilityChangeEvent.publish(context, ReadinessState.REFUSING_TRAFFIC);
        announced.run();
        pause(properties.delay());
        log.info("Draining: refusing new work, {} in flight, {} streams", engine.inFlight(), engine.streams());
        drain.enter(Phase.REFUSING);
        engine.closeStreams();
        if (!inFlightEnds(properties.timeout())) {
            log.warn("Draining: ending {} in flight, which have had {}", engine.inFlight(), properties.timeout());
            engine.endAll();
            inFlightEnds(LAST_WORDS);
        }
        log.info("Drained: {} in flight", engine.inFlight());
        drained.run();
    }

    private boolean inFlightEnds(Duration within) {
        long giveUpAt = System.nanoTime() + within.toNanos();
        while (engine.inFlight() > 0 && System.nanoTime() - giveUpAt < 0) {
            pause(POLL);
        }
        return engine.inFlight() == 0;
    }

    private static void pause(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
