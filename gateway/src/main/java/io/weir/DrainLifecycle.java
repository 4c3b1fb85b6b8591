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
import org.springframework.context.SmartLifecycle;

/** Takes the gateway through its drain when the application stops, before anything else is stopped. */
final class DrainLifecycle implements SmartLifecycle {

    private static final Logger log = LoggerFactory.getLogger(DrainLifecycle.class);
    private static final long POLL_MILLIS = 10;

    private final ApplicationContext context;
    private final Drain drain;
    private final DrainProperties properties;
    private final Engine engine;
    private final Runnable announced;
    private final Runnable drained;
    private volatile boolean running;

    /**
     * The drain of an engine.
     *
     * @param announced asks callers to come back on other connections
     * @param drained stops what would keep the event loops busy
     */
    DrainLifecycle(
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
    public int getPhase() {
        // The last to start and the first to stop: the servers, management's too, answer until it is through.
        return Integer.MAX_VALUE;
    }

    @Override
    public void start() {
        running = true;
    }

    @Override
    public void stop() {
        stop(() -> {});
    }

    @Override
    public void stop(Runnable callback) {
        running = false;
        // Not on the thread that stops the context: Spring waits for the callback, with a time limit of its own.
        Thread.ofPlatform().name("weir-drain").start(() -> {
            try {
                drain();
            } finally {
                callback.run();
            }
        });
    }

    @Override
    public boolean isRunning() {
        return running;
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
        long endsAt = System.nanoTime() + properties.timeout().toNanos();
        while (engine.inFlight() > 0 && System.nanoTime() - endsAt < 0) {
            pause(Duration.ofMillis(POLL_MILLIS));
        }
        log.info("Drained: {} in flight are broken off", engine.inFlight());
        drained.run();
    }

    private static void pause(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
