package io.weir.limit;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;

/**
 * When the latency at half of the limit is measured, and what the result means. A backend that is as slow at
 * half of the limit is slow; otherwise calls queue in it. Times are in seconds. Not thread-safe.
 */
final class Probes {

    /**
     * Calls queue only if a probe at half the limit is faster than this share of the latency at the whole
     * limit.
     */
    private static final double AS_SLOW = .85;

    /**
     * As {@link Growth#CALM}, if the latency is long: the calls of a cold JVM are slower than its later ones.
     */
    private static final double CALM_IF_LONG = 1.5;

    private static final double INTERVAL = 10;
    private static final double MIN_INTERVAL = 1;

    /** Gateways in front of one backend probe together, on whole seconds of the wall clock. */
    private static final double TICK = 1;

    private final LearntLimit limit;
    private final Target target;
    private final BaseLatency base;
    private final double wallOffset;
    private final LatencyProbe probe = new LatencyProbe();

    private boolean wanted;
    private double wantedAt;
    private double probedAt = Double.NEGATIVE_INFINITY;

    /** Whether the last probe moved the base much: the next one is due soon. */
    private boolean baseMoved;

    Probes(LearntLimit limit, Target target, BaseLatency base, double wallOffset) {
        this.limit = limit;
        this.target = target;
        this.base = base;
        this.wallOffset = wallOffset;
    }

    boolean isRunning() {
        return probe.isRunning();
    }

    boolean isHolding() {
        return probe.isHolding();
    }

    /** The lower limit while a probe runs. */
    int limit() {
        return probe.limit();
    }

    boolean haveRun() {
        return probedAt > Double.NEGATIVE_INFINITY;
    }

    void cancel() {
        probe.cancel();
    }

    /** The limit has moved for a reason that a probe would not show. */
    void forgo() {
        wanted = false;
    }

    void started(double now, int inFlight) {
        probe.started(now, inFlight);
    }

    /** The limit has become the bottleneck again. */
    void wantAfterCalm(double now) {
        want(now, Target.FORGOTTEN);
    }

    /** The limit seems far too high. */
    void wantSoon(double now) {
        want(now, MIN_INTERVAL);
    }

    /** The limit is in use; a probe is due now and then. */
    void wantRegularly(double now) {
        boolean due = baseMoved || tick(now, INTERVAL) != tick(probedAt, INTERVAL);
        want(now, due ? MIN_INTERVAL : INTERVAL);
    }

    private void want(double now, double interval) {
        if (!isTooLong() && !wanted && now - probedAt > interval) {
            wanted = true;
            wantedAt = now;
        }
    }

    /**
     * The latency is long, is that of few calls, and shows no queue: a probe would not find anything else,
     * and would take so long that waiting calls expire.
     */
    private boolean isTooLong() {
        return base.hasSamples()
                && base.seconds() > LongWaits.LONG * target.deadline()
                && target.saturatedLatency() < CALM_IF_LONG * base.seconds();
    }

    void startIfWanted(double now) {
        if (!probe.isRunning() && wanted && (!base.isTrusted() || tick(now, TICK) != tick(wantedAt, TICK))) {
            wanted = false;
            probe.start(now, (int) Math.max(1, Math.floor(limit.calls() / 2)));
            limit.count(Change.PROBE);
        }
    }

    private double tick(double time, double length) {
        return Math.floor((time + wallOffset) / length);
    }

    /**
     * A call has ended while a probe runs.
     *
     * @param answerLatency the mean of the last answers
     * @return whether the probe is over
     */
    boolean areOver(double now, Evidence evidence, int inFlight, double answerLatency) {
        double expected = base.isKnown()
                ? Math.max(target.cappedBase(), target.saturatedLatency() / 2)
                : Math.min(answerLatency, target.deadline() / 2);
        boolean over = probe.ended(now, evidence, inFlight, expected, target.deadline());
        if (over) {
            probedAt = now;
        }
        return over;
    }

    /**
     * The latency at the whole limit, by Little's law. Once the limit is not the bottleneck any more, the
     * rate is an old one, and that latency would be too long.
     */
    private double wholeLatency(boolean isSaturated) {
        double latency = limit.calls() / target.rate();
        return isSaturated ? latency : Math.min(latency, target.saturatedLatency());
    }

    /**
     * Lets the base latency and the limit follow a probe's result.
     *
     * @param isSaturated whether the limit was the bottleneck in the last window
     * @return whether calls queue at the whole limit
     */
    boolean judge(boolean isSaturated) {
        if (!probe.isUsable()) {
            return false;
        }
        double latency = probe.latency();
        double before = base.seconds();
        double rate = target.rate();
        boolean asSlow = rate == 0 || latency >= AS_SLOW * wholeLatency(isSaturated);
        boolean certain = probe.isCertain();
        if (certain && (latency < before / 2 || latency > 2 * before || (asSlow && latency > 1.3 * before))) {
            if (asSlow && rate > 0) {
                base.prove(latency);
            } else {
                base.replace(latency);
            }
        } else if (latency < before || asSlow || !base.hasSamples()) {
            base.blend(latency, probe.ends());
        } else {
            // Calls queue, perhaps those of other gateways: the base rises only as far as keeps the limit
            // from shrinking.
            base.raise(target.baseThatKeepsTheLimit(latency));
        }
        if (certain) {
            base.trust();
        }
        baseMoved = before == 0 || Math.abs(base.seconds() / before - 1) > .2;
        double calls = target.calls();
        if (probe.wasFull()) {
            target.skip(probe.seconds());
        } else {
            // Few calls came at half of the limit: the limit is not the bottleneck, and the rate is an old
            // one.
            calls = Math.max(calls, limit.initial());
        }
        if (rate > 0 && calls < limit.calls()) {
            limit.change(limit.clip(calls), Change.QUEUEING);
        }
        return !asSlow;
    }
}
