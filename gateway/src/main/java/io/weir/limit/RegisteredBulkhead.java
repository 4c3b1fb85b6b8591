package io.weir.limit;

import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.bulkhead.BulkheadFullException;
import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.bulkhead.event.BulkheadEvent;
import io.github.resilience4j.bulkhead.event.BulkheadOnCallFinishedEvent;
import io.github.resilience4j.bulkhead.event.BulkheadOnCallPermittedEvent;
import io.github.resilience4j.bulkhead.event.BulkheadOnCallRejectedEvent;
import io.github.resilience4j.core.EventConsumer;
import io.github.resilience4j.core.EventProcessor;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * A {@link QueueingBulkhead} as Resilience4j knows bulkheads, so that its registry, meters, endpoints and events show
 * it.
 *
 * <p>Its own methods never wait and never queue: {@link #acquirePermission()} throws at once when no permit is free.
 * The queue belongs to the engine, which uses the queueing bulkhead itself. Of its calls the listeners here are told those that are
 * rejected, by {@link #publishRejected()}: two events for each call that is permitted and finishes would cost more than its permit, and push out of
 * sight what somebody looks for.
 */
public final class RegisteredBulkhead implements Bulkhead {

    /** A refusal must be cheap, so its exception carries no stack trace. */
    private static final BulkheadConfig STACKLESS =
            BulkheadConfig.custom().writableStackTraceEnabled(false).build();

    private final String name;
    private final QueueingBulkhead bulkhead;
    private final Map<String, String> tags;
    private final Figures figures = new Figures();
    private final Events events = new Events();

    /** Everything but the limit, which is the bulkhead's own. */
    private volatile BulkheadConfig base = STACKLESS;

    RegisteredBulkhead(String name, QueueingBulkhead bulkhead, Map<String, String> tags) {
        this.name = name;
        this.bulkhead = bulkhead;
        this.tags = Map.copyOf(tags);
    }

    /**
     * Puts the bulkhead into the registry, in the place of any other of that name.
     *
     * @param tags for its meters, over those that the registry gives to all
     */
    public static RegisteredBulkhead register(
            BulkheadRegistry registry, String name, QueueingBulkhead bulkhead, Map<String, String> tags) {
        Map<String, String> all = new HashMap<>(registry.getTags());
        all.putAll(tags);
        RegisteredBulkhead registered = new RegisteredBulkhead(name, bulkhead, all);
        // A registry makes its entries itself, and replaces only what exists: one of its own stands there for a moment.
        registry.bulkhead(name, STACKLESS, tags);
        registry.replace(name, registered);
        return registered;
    }

    @Override
    public boolean tryAcquirePermission() {
        boolean permitted = bulkhead.tryAcquire();
        if (permitted) {
            publishPermitted();
        } else {
            publishRejected();
        }
        return permitted;
    }

    @Override
    public void acquirePermission() {
        if (!tryAcquirePermission()) {
            throw BulkheadFullException.createBulkheadFullException(this);
        }
    }

    @Override
    public void releasePermission() {
        bulkhead.release();
    }

    @Override
    public void onComplete() {
        bulkhead.release();
        publishFinished();
    }

    /** Tells the listeners, if there are any, that a call holds a permit. */
    void publishPermitted() {
        if (events.hasConsumers()) {
            events.processEvent(new BulkheadOnCallPermittedEvent(name));
        }
    }

    /** Tells the listeners, if there are any, that a call was refused. */
    public void publishRejected() {
        if (events.hasConsumers()) {
            events.processEvent(new BulkheadOnCallRejectedEvent(name));
        }
    }

    /** Tells the listeners, if there are any, that a call gave its permit back. */
    void publishFinished() {
        if (events.hasConsumers()) {
            events.processEvent(new BulkheadOnCallFinishedEvent(name));
        }
    }

    /**
     * Changes the limit, at once and without waiting for permits; the queue's capacity stays.
     *
     * @throws IllegalArgumentException for what it cannot follow: a wait, or an order other than first come, first
     *     served
     */
    @Override
    public void changeConfig(BulkheadConfig config) {
        if (!config.getMaxWaitDuration().isZero()) {
            throw new IllegalArgumentException(
                    "maxWaitDuration: %s (expected: 0, as this never waits; the queue's is max-wait-duration)"
                            .formatted(config.getMaxWaitDuration()));
        }
        if (!config.isFairCallHandlingEnabled()) {
            throw new IllegalArgumentException("fairCallHandlingEnabled: false (expected: true, the queue is FIFO)");
        }
        bulkhead.resize(config.getMaxConcurrentCalls(), bulkhead.queueCapacity());
        base = config;
    }

    @Override
    public BulkheadConfig getBulkheadConfig() {
        return BulkheadConfig.from(base)
                .maxConcurrentCalls(bulkhead.maxConcurrentCalls())
                .maxWaitDuration(Duration.ZERO)
                .build();
    }

    @Override
    public String getName() {
        return name;
    }

    @Override
    public Metrics getMetrics() {
        return figures;
    }

    @Override
    public Map<String, String> getTags() {
        return tags;
    }

    @Override
    public EventPublisher getEventPublisher() {
        return events;
    }

    @Override
    public String toString() {
        return "Bulkhead '%s': %s".formatted(name, bulkhead);
    }

    private final class Figures implements Metrics {

        /** Zero also while more is in use than allowed, after the limit was lowered. */
        @Override
        public int getAvailableConcurrentCalls() {
            return Math.max(0, bulkhead.maxConcurrentCalls() - bulkhead.inUse());
        }

        @Override
        public int getMaxAllowedConcurrentCalls() {
            return bulkhead.maxConcurrentCalls();
        }
    }

    private static final class Events extends EventProcessor<BulkheadEvent> implements EventPublisher {

        @Override
        public EventPublisher onCallPermitted(EventConsumer<BulkheadOnCallPermittedEvent> consumer) {
            registerConsumer(BulkheadOnCallPermittedEvent.class.getName(), consumer);
            return this;
        }

        @Override
        public EventPublisher onCallRejected(EventConsumer<BulkheadOnCallRejectedEvent> consumer) {
            registerConsumer(BulkheadOnCallRejectedEvent.class.getName(), consumer);
            return this;
        }

        @Override
        public EventPublisher onCallFinished(EventConsumer<BulkheadOnCallFinishedEvent> consumer) {
            registerConsumer(BulkheadOnCallFinishedEvent.class.getName(), consumer);
            return this;
        }
    }
}
