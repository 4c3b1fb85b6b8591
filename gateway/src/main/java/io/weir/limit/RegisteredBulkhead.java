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
 * Adapts a {@link QueueingBulkhead} to Resilience4j's interface, so that Resilience4j's registry, meters,
 * endpoints and events show it.
 *
 * <p>The methods of this adapter never wait and never queue: {@link #acquirePermission()} throws at once when
 * no permit is free. The queue belongs to the engine, which uses the queueing bulkhead directly. For the
 * engine's calls, listeners receive only the events of rejected calls ({@link #publishRejected()}). Two
 * events for each permitted call would cost more than its permit, and would push the rejections out of
 * bounded event lists.
 */
public final class RegisteredBulkhead implements Bulkhead {

    /** A rejection must be cheap, so its exception has no stack trace. */
    private static final BulkheadConfig STACKLESS =
            BulkheadConfig.custom().writableStackTraceEnabled(false).build();

    private final String name;
    private final QueueingBulkhead bulkhead;
    private final LimitInForce limit;
    private final Map<String, String> tags;
    private final BulkheadMetrics metrics = new BulkheadMetrics();
    private final Events events = new Events();

    /** The configuration without the limit, which the bulkhead holds. */
    private volatile BulkheadConfig base = STACKLESS;

    RegisteredBulkhead(String name, QueueingBulkhead bulkhead, LimitInForce limit, Map<String, String> tags) {
        this.name = name;
        this.bulkhead = bulkhead;
        this.limit = limit;
        this.tags = Map.copyOf(tags);
    }

    /**
     * Registers the bulkhead, in place of any other bulkhead of that name.
     *
     * @param limit the source of its limit
     * @param tags tags of its meters; they override the registry's tags
     */
    public static RegisteredBulkhead register(
            BulkheadRegistry registry,
            String name,
            QueueingBulkhead bulkhead,
            LimitInForce limit,
            Map<String, String> tags) {
        Map<String, String> all = new HashMap<>(registry.getTags());
        all.putAll(tags);
        RegisteredBulkhead registered = new RegisteredBulkhead(name, bulkhead, limit, all);
        // A registry creates entries itself, and replaces only existing entries. So its own entry exists for
        // a moment.
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

    /** Publishes the event of a permitted call, if there are listeners. */
    void publishPermitted() {
        if (events.hasConsumers()) {
            events.processEvent(new BulkheadOnCallPermittedEvent(name));
        }
    }

    /** Publishes the event of a rejected call, if there are listeners. */
    public void publishRejected() {
        if (events.hasConsumers()) {
            events.processEvent(new BulkheadOnCallRejectedEvent(name));
        }
    }

    /** Publishes the event of a finished call, if there are listeners. */
    void publishFinished() {
        if (events.hasConsumers()) {
            events.processEvent(new BulkheadOnCallFinishedEvent(name));
        }
    }

    /**
     * Sets an operator's limit at once, without waiting for permits. It replaces a fixed limit, and is the
     * ceiling of an adaptive limit, until a change to {@value QueueingBulkhead#LARGEST} or more releases it.
     * Reloads keep it. The queue's capacity does not change.
     *
     * @throws IllegalArgumentException for a setting that this bulkhead does not support: a wait, or unfair
     *     order
     */
    @Override
    public void changeConfig(BulkheadConfig config) {
        if (!config.getMaxWaitDuration().isZero()) {
            throw new IllegalArgumentException(
                    "maxWaitDuration: %s (expected: 0, since max-wait-duration sets the queue's wait)"
                            .formatted(config.getMaxWaitDuration()));
        }
        if (!config.isFairCallHandlingEnabled()) {
            throw new IllegalArgumentException(
                    "fairCallHandlingEnabled: false (expected: true, since the queue is FIFO)");
        }
        int calls = config.getMaxConcurrentCalls();
        limit.limitByOperator(calls >= QueueingBulkhead.LARGEST ? LimitInForce.NONE : calls);
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
        return metrics;
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

    private final class BulkheadMetrics implements Metrics {

        /** Zero, not negative, while more permits are in use than a lowered limit allows. */
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
