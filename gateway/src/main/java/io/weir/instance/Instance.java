package io.weir.instance;

import io.weir.health.Health;
import java.net.URI;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One instance of a backend: an address with its own connections and its own health. A reload that keeps the
 * address keeps the instance with its state.
 */
// Concurrency: `waitingSince` is written by each answer, and by a call that finds no other call in flight.
// Benign: of two threads that write at once, either may win; the two times differ by a moment.
public final class Instance implements Choice.Candidate {

    /** A wait of so many usual latencies is late. */
    private static final int LATE_TIMES = 2;

    private final URI uri;
    private final String authority;
    private final int weight;
    private final Pool pool;
    private final Health health;
    private final PeakEwma latency;
    private final SlowStart slowStart;
    private final AtomicInteger streams;
    private volatile long waitingSince;

    /**
     * An instance.
     *
     * @param uri the address that its pool connects to
     * @param weight its share of the traffic relative to the other weights; 1 or more
     * @param pool the connections
     * @param health whether calls go to the instance; of a backend's only instance, the health of the backend
     */
    public Instance(URI uri, int weight, Pool pool, Health health) {
        this(uri, weight, pool, health, new PeakEwma(), new SlowStart(), new AtomicInteger());
    }

    private Instance(
            URI uri,
            int weight,
            Pool pool,
            Health health,
            PeakEwma latency,
            SlowStart slowStart,
            AtomicInteger streams) {
        this.latency = latency;
        this.slowStart = slowStart;
        this.streams = streams;
        this.uri = uri;
        this.authority = uri.getPort() == -1 ? uri.getHost() : uri.getHost() + ':' + uri.getPort();
        this.weight = weight;
        this.pool = pool;
        this.health = health;
    }

    /** An instance of weight 1. */
    public Instance(URI uri, Pool pool, Health health) {
        this(uri, 1, pool, health);
    }

    /** The same instance with another weight. */
    public Instance withWeight(int other) {
        return other == weight ? this : new Instance(uri, other, pool, health, latency, slowStart, streams);
    }

    /** The address that the pool connects to. */
    public URI uri() {
        return uri;
    }

    /** The value of {@code Host}: without a port if the URI has none. */
    public String authority() {
        return authority;
    }

    @Override
    public int weight() {
        return weight;
    }

    /** The connections. */
    public Pool pool() {
        return pool;
    }

    /** Whether calls go to the instance. */
    public Health health() {
        return health;
    }

    // ---------------------------------------------------------------- the load, where a backend has several

    /** A call has entered the instance's health, and is about to be sent. */
    public void sent(long now) {
        if (health.inFlight() <= 1) {
            waitingSince = now;
        }
    }

    /** The head of an answer has arrived. */
    public void answered(long now) {
        waitingSince = now;
    }

    /** A call was answered well in this time. */
    public void served(long latencyNanos, long now) {
        latency.record(latencyNanos, now);
    }

    /** A call has ended without a good answer after this time. */
    public void unserved(long waitedNanos, long now) {
        latency.raise(waitedNanos, now);
    }

    /** The usual latency when the last call was recorded; 0: none is. For display. */
    public long lastLatencyNanos() {
        return latency.lastNanos();
    }

    /** The instance is new, or has returned: its calls become more slowly. */
    public void startSlowly(long now) {
        slowStart.begin(now);
    }

    /** A stream to the instance has begun; {@link #streamEnded} must follow once. */
    public void streamBegan() {
        streams.incrementAndGet();
    }

    /** A stream to the instance has ended. */
    public void streamEnded() {
        streams.decrementAndGet();
    }

    /** Streams and WebSockets under way. */
    public int streams() {
        return streams.get();
    }

    /** Calls under way, and streams: each of them is load, also while it is idle. */
    @Override
    public int inFlight() {
        return health.inFlight() + streams.get();
    }

    /**
     * While calls are under way, a silence that is longer than the usual latency counts, too: an instance
     * that has just stopped answering gets no more calls, long before its first call is overdue. With several
     * calls under way, answers come more often, so the same silence means a longer latency.
     */
    @Override
    public long latencyNanos(long now) {
        long usual = latency.nanos(now);
        int calls = health.inFlight();
        long waited = now - waitingSince;
        return calls == 0 || waited <= usual ? usual : waited * (calls + 1) / 2;
    }

    @Override
    public boolean isLate(long now) {
        long usual = latency.nanos(now);
        return usual != 0 && latencyNanos(now) > LATE_TIMES * usual;
    }

    @Override
    public boolean isFull() {
        return health.isRampFull() || health.isAtCap();
    }

    @Override
    public boolean isIn() {
        return health.isIn();
    }

    @Override
    public boolean isAtShare() {
        return health.isAtShare();
    }

    @Override
    public double slowStartFactor(long now, long windowNanos) {
        return slowStart.factor(now, windowNanos);
    }

    @Override
    public long slowStartLeftNanos(long now, long windowNanos) {
        return slowStart.leftNanos(now, windowNanos);
    }
}
