package io.weir.instance;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.capacity.CapacitySignal;
import io.weir.capacity.StatedCapacity;
import io.weir.health.Health;
import java.net.URI;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * One instance of a backend: an address with its own connections and its own health. A reload that keeps the
 * address keeps the instance with its state.
 */
// Concurrency: `waitingSince` is written by each answer, and by a call that finds no other call in flight.
// Benign: of two threads that write at once, either may win; the two times differ by a moment.
public final class Instance implements Choice.Candidate {

    /** A wait of so many usual latencies is late. */
    private static final int LATE_TIMES = 2;
    /** The latency while the first call is under way. */
    private static final long UNKNOWN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final InstanceAddress address;
    private final URI uri;
    private final String authority;
    private final int weight;
    private final boolean isBackup;
    private final Pool pool;
    private final Health health;
    private final PeakEwma latency;
    private final Exploration exploration;
    private final SlowStart slowStart;
    private final AtomicInteger streams;
    private final LongAdder answeredCalls;
    private final LongAdder failedCalls;
    private final StatedCapacity capacity;
    private volatile long waitingSince;

    /**
     * An instance.
     *
     * @param address the address that its pool connects to, and its weight
     * @param pool the connections
     * @param health whether calls go to the instance; of a backend's only instance, the health of the backend
     */
    public Instance(InstanceAddress address, Pool pool, Health health) {
        this(address, pool, health, new StatedCapacity(new CapacitySignal(() -> {})));
    }

    /** An instance that may state its capacity. */
    public Instance(InstanceAddress address, Pool pool, Health health, StatedCapacity capacity) {
        this(
                address,
                pool,
                health,
                new PeakEwma(),
                new Exploration(),
                new SlowStart(),
                new AtomicInteger(),
                new LongAdder(),
                new LongAdder(),
                capacity);
    }

    /** An instance whose host is resolved by each new connection. */
    public Instance(URI uri, int weight, Pool pool, Health health) {
        this(InstanceAddress.of(uri, weight), pool, health);
    }

    private Instance(
            InstanceAddress address,
            Pool pool,
            Health health,
            PeakEwma latency,
            Exploration exploration,
            SlowStart slowStart,
            AtomicInteger streams,
            LongAdder answeredCalls,
            LongAdder failedCalls,
            StatedCapacity capacity) {
        this.latency = latency;
        this.exploration = exploration;
        this.slowStart = slowStart;
        this.streams = streams;
        this.answeredCalls = answeredCalls;
        this.failedCalls = failedCalls;
        this.capacity = capacity;
        this.address = address;
        this.uri = address.shown();
        this.authority = authorityOf(address.uri());
        this.weight = address.weight();
        this.isBackup = address.isBackup();
        this.pool = pool;
        this.health = health;
    }

    /** An instance of weight 1. */
    public Instance(URI uri, Pool pool, Health health) {
        this(uri, 1, pool, health);
    }

    /** The same instance with another weight, or other connections. */
    public Instance with(int otherWeight, Pool otherPool) {
        return with(otherWeight, isBackup, otherPool);
    }

    /** The same instance with another weight, in another tier, or with other connections. */
    public Instance with(int otherWeight, boolean isOtherBackup, Pool otherPool) {
        return otherWeight == weight && isOtherBackup == isBackup && otherPool == pool
                ? this
                : new Instance(
                        address.with(otherWeight, isOtherBackup),
                        otherPool,
                        health,
                        latency,
                        exploration,
                        slowStart,
                        streams,
                        answeredCalls,
                        failedCalls,
                        capacity);
    }

    /**
     * The same object before and after a reload that changes the weight or the connections: the health, which
     * a reload keeps.
     */
    @Override
    public Object identity() {
        return health;
    }

    /** Whether the other object stands for this instance, too. */
    public boolean isSameAs(Instance other) {
        return identity() == other.identity();
    }

    /** Whether connections to the address lead to this instance. */
    public boolean isAt(InstanceAddress other) {
        return address.isSameAs(other);
    }

    /** The address, with the weight. */
    public InstanceAddress address() {
        return address;
    }

    /**
     * The address that the pool connects to. Of a name with several addresses, the one of this instance.
     */
    public URI uri() {
        return uri;
    }

    /** Scheme and authority, as endpoints and the log show it: the URI may hold a user name and password. */
    public String shownAddress() {
        return shownAddressOf(uri);
    }

    /** The {@link #shownAddress} without the scheme; it tells the instances of a backend apart. */
    public String shownAuthority() {
        return authorityOf(uri);
    }

    /** The {@link #shownAddress} of the instance at a URI. */
    public static String shownAddressOf(URI uri) {
        return uri.getScheme() + "://" + authorityOf(uri);
    }

    private static String authorityOf(URI uri) {
        return uri.getPort() == -1 ? uri.getHost() : uri.getHost() + ':' + uri.getPort();
    }

    /** The value of {@code Host}: the backend's name, without a port if the URI has none. */
    public String authority() {
        return authority;
    }

    @Override
    public int weight() {
        return weight;
    }

    @Override
    public int share() {
        return weight * capacity.percent();
    }

    /** Whether it gets calls only while no other instance can take them. */
    public boolean isBackup() {
        return isBackup;
    }

    /** The connections. */
    public Pool pool() {
        return pool;
    }

    /** Whether calls go to the instance. */
    public Health health() {
        return health;
    }

    /** The number of calls that the instance takes at once, as it states it. */
    public StatedCapacity capacity() {
        return capacity;
    }

    /** Reads and removes the capacity that the instance states in the fields of an answer. */
    public void readCapacity(HttpHeaders fields, long now) {
        if (capacity.isOn()) {
            capacity.read(fields, health.inFlight(), now);
        }
    }

    // ---------------------------------------------------------------- the load, for the choice

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
        exploration.answered(latencyNanos, latency.lastNanos(), now);
        // 0 is an unknown latency.
        latency.record(Math.max(1, latencyNanos), now);
        answeredCalls.increment();
    }

    /** A call has failed after this time, or was answered with a sign of overload. */
    public void failed(long waitedNanos, long now) {
        endedWithoutAnswer(waitedNanos, now);
        failedCalls.increment();
    }

    /** A call has ended without a good answer after this time. */
    public void endedWithoutAnswer(long waitedNanos, long now) {
        exploration.failed(now);
        latency.raise(waitedNanos, now);
    }

    /** The usual latency when the last call was recorded; 0: none is. For display. */
    public long lastLatencyNanos() {
        return latency.lastNanos();
    }

    /**
     * The instance is new, or has returned: its calls become more slowly. Its latency from before says
     * nothing about now, and a high one would keep calls away from the instance.
     */
    public void startSlowly(long now) {
        latency.forget();
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

    /** Returns the instance after an operator has drained it. */
    public void restore() {
        health.operator().restore();
    }

    /** Calls that were answered well, since the start. */
    public long answeredCalls() {
        return answeredCalls.sum();
    }

    /** Calls that have failed, or were answered with a sign of overload, since the start. */
    public long failedCalls() {
        return failedCalls.sum();
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
     *
     * <p>While the first call is under way, the latency counts as high, so that an instance which never
     * answers gets few calls if another one answers (as in Finagle's and Tower's {@code PeakEwma}).
     */
    @Override
    public long latencyNanos(long now) {
        long usual = latency.nanos(now);
        int calls = health.inFlight();
        long waited = now - waitingSince;
        if (usual == 0 && calls > 0) {
            return Math.max(UNKNOWN_NANOS, waited);
        }
        return calls == 0 || waited <= usual ? usual : waited * (calls + 1) / 2;
    }

    @Override
    public boolean isLate(long now) {
        long usual = latency.nanos(now);
        return usual != 0 && latencyNanos(now) > LATE_TIMES * usual;
    }

    @Override
    public int coolDownFailures(long now) {
        return health.role().coolDownFailures(now);
    }

    @Override
    public boolean isExplorationDue(long now) {
        return health.inFlight() == 0 && exploration.isDue(now);
    }

    @Override
    public boolean isLeftAlone(long now) {
        return health.pushback().isInForce(now);
    }

    @Override
    public boolean isFull() {
        return health.caps().isRampFull()
                || health.caps().isAtCap()
                || (capacity.hasStated() && capacity.isReached(health.inFlight(), health.now()));
    }

    @Override
    public boolean isIn() {
        return health.isIn();
    }

    @Override
    public boolean isAtShare() {
        return health.caps().isAtShare();
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
