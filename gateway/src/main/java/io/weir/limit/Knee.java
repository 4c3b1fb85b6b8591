package io.weir.limit;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Finds the limit at the knee of a backend: the fewest concurrent calls that keep it busy. By Little's law
 * that is the rate of answers times the latency of a call that does not queue:
 *
 * <pre>
 *   target = 1.15 &middot; rate &middot; min(base, deadline / 2) + &radic;limit
 * </pre>
 *
 * <p>{@code rate} is the rate of answers while the limit is the bottleneck. {@code base} is the latency with
 * at most half of the limit in use. It comes from calls that started at such a moment, or else from a
 * {@link LatencyProbe}, which halves the limit for a moment. The rules, and the reason for each of them, are
 * in the package's documentation.
 *
 * <p>Samples are judged in windows that last for some latencies and have at least 8 samples. Times are in
 * seconds. Not thread-safe, and without a clock: {@link AdaptiveLimit} confines it to one thread at a time.
 *
 * <p>This class stays whole although it has more than 400 lines: its rules share one state, and each rule
 * depends on the others.
 */
final class Knee {

    /** Room for random arrivals, in shares of the calls that the backend works on. */
    private static final double GAIN = 1.15;

    /** A latency below this multiple of the base is no sign of a queue. */
    private static final double CALM = 1.2;

    /** As CALM, if the latency is long: the calls of a cold JVM are slower than its later ones. */
    private static final double CALM_IF_LONG = 1.5;

    private static final double GROWTH = 1.5;
    private static final double MIN_SLOW_START_GROWTH = 2;
    private static final double MAX_SLOW_START_GROWTH = 4;

    /** The share of the deadline that a latency may reach by growth alone. */
    private static final double MAX_LATENCY_BY_GROWTH = .6;

    /** Growth that brought fewer answers than this multiple is reverted. */
    private static final double WORTHWHILE = 1.15;

    private static final double MIN_BACK_OFF = 2;
    private static final double MAX_BACK_OFF = 16;

    /**
     * Calls queue only if a probe at half the limit is faster than this share of the latency at the whole
     * limit.
     */
    private static final double AS_SLOW = .85;

    private static final double PROBE_INTERVAL = 10;
    private static final double MIN_PROBE_INTERVAL = 1;

    /** Gateways in front of one backend probe together, on whole seconds of the wall clock. */
    private static final double PROBE_TICK = 1;

    /** After this time without saturation, saturation counts as new. */
    private static final double FORGOTTEN = 2;

    /** The same in latencies, where that is longer: a window takes two latencies, and three after growth. */
    private static final double FORGOTTEN_LATENCIES = 4;

    /**
     * The share of the deadline from which a latency is long: a probe takes longer than the deadline, and a
     * call that has waited for as long has no time left to wait for a verdict.
     */
    private static final double LONG = 1 / 3.;

    /** As LONG, for the wait while no call has ended: the first answers of a cold JVM are late, too. */
    private static final double LONG_AT_FIRST = 1 / 4.;

    /** A base latency that was shorter within this time may be congested now, not long. */
    private static final double REMEMBERED = 60;

    /** Rounding of the waits' times, and of shares. */
    private static final double ROUNDING = 1e-6;

    private final double wallOffset;
    /**
     * The share of the backend's instances that take calls. All other numbers are those of these instances.
     */
    private double share = 1;

    private double min;
    private double max;
    private double initial;
    private double deadline;

    private final SampleWindow window = new SampleWindow();
    private final LatencyProbe probe = new LatencyProbe();
    private final BaseLatency base = new BaseLatency();

    private double limit;
    private Change lastChange = Change.INITIAL;
    /** By ordinal of {@link Change}; read by other threads. */
    private final AtomicLongArray changes = new AtomicLongArray(Change.values().length);

    private double utilisation;

    /** 0 while unknown. */
    private double rate;

    private double saturatedAt = Double.NEGATIVE_INFINITY;
    private double answerLatency;

    private boolean probeWanted;
    private double probeWantedAt;
    private double probedAt = Double.NEGATIVE_INFINITY;

    /** Whether the last probe moved the base much: the next one is due soon. */
    private boolean baseMoved;

    private double timedOutAt = Double.NEGATIVE_INFINITY;

    /** The limit before it was lowered for time-outs that no queue explains; 0: it was not. */
    private double limitBeforeTimeouts;

    /** The limit before the last growth, until a window has shown its effect; 0: no such growth. */
    private double grewFrom;

    private double rateBeforeGrowth;
    private double noGrowthUntil;
    private double backOff = MIN_BACK_OFF;
    private boolean slowStart = true;
    private int calmWindows;

    /** The mean latency of the last window in which the limit was the bottleneck. */
    private double saturatedLatency;

    private double endedAt = Double.NEGATIVE_INFINITY;

    private double answeredAt = Double.NEGATIVE_INFINITY;

    /** The last end that is a sign of a queue or of a failure. */
    private double slowAt = Double.NEGATIVE_INFINITY;

    /** The last end at which the base latency was not long. */
    private double shortAt = Double.NEGATIVE_INFINITY;

    /** Since when calls wait for permits, as far as it is known. */
    private double waitingSince = Double.POSITIVE_INFINITY;

    /** The last growth for a waiting call. */
    private double grewForWaitAt;

    /** The answers to later calls before such a growth may be repeated: as many as it admitted calls. */
    private int answersDue;

    /**
     * A limit without samples.
     *
     * @param wallOffset the wall clock's time at the samples' time 0
     */
    Knee(AdaptiveLimit.Bounds bounds, double deadline, double wallOffset) {
        this.min = bounds.min();
        this.max = bounds.max();
        this.initial = bounds.initial();
        this.limit = bounds.initial();
        this.deadline = deadline;
        this.wallOffset = wallOffset;
    }

    /**
     * Changes the settings. The initial limit counts only while nothing is known. If the share of the
     * instances changes, their limit and their rate of answers change with it; the latency stays.
     */
    void configure(AdaptiveLimit.Bounds bounds, double nextDeadline, double nextShare) {
        if (nextShare != share) {
            rescale(nextShare / share);
            share = nextShare;
        }
        min = Math.max(1, share * bounds.min());
        max = Math.max(1, share * bounds.max());
        initial = Math.max(1, share * bounds.initial());
        deadline = nextDeadline;
        limit = lastChange == Change.INITIAL && !base.isKnown() ? initial : clip(limit);
    }

    private void rescale(double factor) {
        limit *= factor;
        rate *= factor;
        grewFrom *= factor;
        rateBeforeGrowth *= factor;
        limitBeforeTimeouts *= factor;
        // The samples so far are those of other instances.
        window.close();
        probe.cancel();
    }

    /** The limit of the instances that take calls. */
    int value() {
        return probe.isRunning() ? probe.limit() : ownValue();
    }

    /** The limit if all instances took calls. */
    int wholeValue() {
        return share == 1 ? value() : whole(probe.isRunning() ? probe.limit() : limit);
    }

    /** As {@link #wholeValue}, without the probe that may run. */
    int wholeLimit() {
        return share == 1 ? ownValue() : whole(limit);
    }

    private int whole(double ofShare) {
        return Math.max(1, (int) (ofShare / share + ROUNDING));
    }

    /** Computed by {@link #partOf} from the whole limit, so that it equals the number in force. */
    private int ownValue() {
        return share == 1 ? (int) (limit + 1e-9) : partOf(whole(limit), share);
    }

    /**
     * The limit of some of the instances.
     *
     * @param limit the limit of all instances
     * @param share the share of those that take calls
     */
    static int partOf(int limit, double share) {
        return Math.max(1, (int) Math.ceil(limit * share - ROUNDING));
    }

    Change lastChange() {
        return probe.isRunning() ? Change.PROBE : lastChange;
    }

    double baseLatency() {
        return base.seconds();
    }

    double rate() {
        return rate;
    }

    double utilisation() {
        return utilisation;
    }

    boolean isAtFloor() {
        return ownValue() <= min;
    }

    /** Whether {@link #started} must be called for each call. */
    boolean isHolding() {
        return probe.isHolding();
    }

    /**
     * A call is a sample of the base latency if at most this number of calls is in flight, itself included.
     */
    int baseInFlight() {
        return probe.isRunning() ? 0 : (int) Math.max(1, limit / 2);
    }

    void started(double now, int inFlight) {
        probe.started(now, inFlight);
    }

    /**
     * The wait after which {@link #waited} must be called, since no window can judge the limit while calls
     * can still wait; infinite: a window can.
     */
    double longWait() {
        boolean isBlind = base.isKnown() ? endedAt - shortAt > REMEMBERED : isUnused();
        return isBlind ? (isUnused() ? LONG_AT_FIRST : LONG) * deadline : Double.POSITIVE_INFINITY;
    }

    private boolean isUnused() {
        return endedAt == Double.NEGATIVE_INFINITY;
    }

    /**
     * A call waits for a permit, or was refused one. If calls take longer in the backend than they can wait,
     * no window judges the limit in time. Then the limit grows unless there is a sign of a queue.
     *
     * @param since the moment at which it started to wait
     */
    void waited(double now, double since) {
        waitingSince = Math.min(waitingSince, since);
        if (probe.isRunning()
                || now - waitingSince < longWait() - ROUNDING
                || now - slowAt < Math.max(LONG * deadline, base.seconds())
                || answersDue > 0) {
            return;
        }
        grewForWaitAt = now;
        waitingSince = now;
        grewFrom = limit;
        rateBeforeGrowth = rate;
        window.open(now + (base.isKnown() ? base.seconds() : LONG * deadline));
        change(clip((base.isKnown() ? GROWTH : MIN_SLOW_START_GROWTH) * limit), Change.GROWTH);
        answersDue = (int) Math.ceil(limit - grewFrom);
    }

    /**
     * A call has ended.
     *
     * @param isBase whether it is a sample of the base latency
     * @param inFlightAtStart the calls in flight when it started, including it
     * @param inFlight the calls in flight, including it
     */
    void ended(double now, double latency, Evidence evidence, boolean isBase, int inFlightAtStart, int inFlight) {
        if (!probe.isRunning() && probeWanted) {
            startProbeOnTick(now);
        }
        if (probe.isRunning()) {
            double expected = base.isKnown() ? cappedBase() : Math.min(answerLatency, deadline / 2);
            if (probe.ended(now, evidence, inFlight, expected, deadline)) {
                window.close();
                probed(now);
            }
            return;
        }
        if (inFlight < value()) {
            waitingSince = Double.POSITIVE_INFINITY;
        }
        skipUnused(now - latency);
        endedAt = now;
        if (evidence == Evidence.NONE || isSentTooLate(now, latency, evidence)) {
            return;
        }
        if (evidence == Evidence.ANSWERED) {
            answeredAt = now;
        }
        if (evidence != Evidence.ANSWERED || (base.isKnown() && latency > CALM * base.seconds())) {
            slowAt = now;
        }
        if (answersDue > 0 && evidence == Evidence.ANSWERED && now - latency >= grewForWaitAt) {
            answersDue--;
        }
        if (base.isKnown() && base.seconds() <= LONG * deadline) {
            shortAt = now;
        }
        if (isBase && evidence == Evidence.ANSWERED) {
            base.add(latency, latency > LONG * deadline);
        }
        if (!window.isOpen()) {
            window.open(now);
        } else if (window.hasBegun(now)) {
            boolean shed = evidence == Evidence.SHED
                    || (evidence == Evidence.UNAVAILABLE && latency < Math.max(base.seconds() / 2, .001));
            window.add(evidence, shed, latency, inFlightAtStart, inFlight >= ownValue());
            if (isComplete(window.samples(), window.meanLatency(), window.elapsed(now))) {
                window.close();
                judge(now);
                if (!window.isOpen()) {
                    window.open(now);
                }
            }
        }
    }

    /**
     * A permit was free from the last end of a call until the start of this one, or the limit was not in
     * force: that time is not part of the rate at which the backend answers while the limit is the
     * bottleneck. Short times are left in: without them, the rate of a window that is half full would be too
     * high.
     */
    private void skipUnused(double startedAt) {
        double unused = startedAt - endedAt;
        if (unused > FORGOTTEN && !isUnused()) {
            window.skip(unused);
        }
    }

    /**
     * A time-out of a call that was in the backend for no longer than a call without a queue: it had waited
     * for its permit for too long, which says nothing about the backend while that answers other calls.
     */
    private boolean isSentTooLate(double now, double latency, Evidence evidence) {
        return evidence == Evidence.TIMED_OUT
                && base.isKnown()
                && latency < CALM * base.seconds()
                && now - answeredAt < deadline;
    }

    private boolean isComplete(int samples, double latency, double elapsed) {
        if (window.isMostlyTimeouts()) {
            return elapsed >= deadline / 2 && samples >= 3;
        }
        if (grewFrom > 0 && samples < 32 && elapsed < 1) {
            return false;
        }
        return (elapsed >= Math.max(2 * latency, .01) && samples >= Math.clamp(2 * limit, 8, 24))
                || (elapsed >= Math.max(latency, .01) && samples >= 32)
                || (elapsed >= Math.max(.5, 2 * latency) && samples >= 4);
    }

    private void judge(double now) {
        utilisation = window.utilisation();
        if (window.isMostlyTimeouts()) {
            judgeTimeouts(now);
            return;
        }
        if (window.answers() > 0) {
            answerLatency = window.meanAnswerLatency();
        }
        if (hasRecovered()) {
            return;
        }
        if (window.sheds() >= 2 && window.sheds() > window.samples() / 100.) {
            judgeSheds();
        } else if (utilisation >= .5) {
            judgeSaturated(now, window.answers() / window.elapsed(now));
        }
    }

    /**
     * Lowers the limit if hardly any call was answered in time, at most once per deadline. Nothing is learnt.
     * The very first calls, if none was answered, do not lower the initial limit: those of a cold JVM are
     * late.
     */
    private void judgeTimeouts(double now) {
        if (now - timedOutAt < deadline) {
            return;
        }
        if (limitBeforeTimeouts == 0 && answerLatency < deadline / 4) {
            limitBeforeTimeouts = limit;
        }
        double answered = 1 - (double) window.timeouts() / window.samples();
        boolean areFirst = answeredAt == Double.NEGATIVE_INFINITY && timedOutAt == Double.NEGATIVE_INFINITY;
        // Not above the present limit, which sheds may have lowered.
        double least = Math.min(limit, areFirst ? initial : min);
        change(Math.max(least, limit * Math.clamp(answered, .25, .5)), Change.TIMEOUTS);
        timedOutAt = now;
        grewFrom = 0;
        rate = 0;
    }

    /**
     * Whether answers are fast again after time-outs that no queue explains; then restores half of that
     * limit.
     */
    private boolean hasRecovered() {
        double safe = limitBeforeTimeouts / 2;
        boolean fast = window.timeouts() < window.samples() / 4. && window.meanLatency() < deadline / 4;
        boolean recovered = safe > limit && fast;
        if (recovered) {
            change(clip(safe), Change.RECOVERY);
            rate = 0;
        }
        if (safe <= limit) {
            limitBeforeTimeouts = 0;
        }
        return recovered;
    }

    /** Lowers the limit of a backend that refuses calls to the number of calls that it answered at once. */
    private void judgeSheds() {
        double next = window.maxInFlightAnswered();
        if (utilisation >= .5 && rate > 0) {
            next = Math.min(next, rate * answerLatency + .5);
        }
        next = Math.max(next, .7 * limit);
        if (next < limit) {
            change(Math.max(min, next), Change.SHEDDING);
        }
        grewFrom = 0;
    }

    /** Judges a window in which the limit was the bottleneck. */
    private void judgeSaturated(double now, double windowRate) {
        double latency = window.meanLatency();
        boolean full = utilisation >= .95;
        learnRate(now, windowRate, latency);
        double target = target();
        if (grewFrom > 0 && isGrowthReverted(now, windowRate, target)) {
            return;
        }
        countCalmWindow(latency);
        if (target >= limit) {
            grow(now, latency, windowRate, target);
        } else if (target >= .75 * limit || limit <= min + 1) {
            if (full && probedAt > Double.NEGATIVE_INFINITY) {
                change(clip(limit + .2 * (target - limit)), Change.QUEUEING);
            }
        } else if (full) {
            wantProbe(now, MIN_PROBE_INTERVAL);
        }
        if (full && grewFrom == 0) {
            boolean due = baseMoved || tick(now, PROBE_INTERVAL) != tick(probedAt, PROBE_INTERVAL);
            wantProbe(now, due ? MIN_PROBE_INTERVAL : PROBE_INTERVAL);
        }
    }

    private void learnRate(double now, double windowRate, double latency) {
        saturatedLatency = latency;
        boolean outdated = rate == 0 || now - saturatedAt > Math.max(FORGOTTEN, 10 * latency);
        if (outdated || (grewFrom > 0 && windowRate > rate)) {
            rate = windowRate;
        } else {
            rate += (windowRate > rate ? .5 : .25) * (windowRate - rate);
        }
        if (now - saturatedAt > Math.max(FORGOTTEN, FORGOTTEN_LATENCIES * latency)) {
            slowStart = true;
            wantProbe(now, FORGOTTEN);
        }
        saturatedAt = now;
        if (!base.isKnown()) {
            base.guess(firstGuess(windowRate, latency));
            slowStart = true;
        }
    }

    /**
     * The first guess of the base latency, in a window in which the limit was the bottleneck: that of
     * Little's law, if it is longer. The mean latency misses the slow calls, which end after the window.
     */
    private double firstGuess(double windowRate, double latency) {
        return windowRate == 0 ? latency : Math.max(latency, Math.min(limit / windowRate, deadline / 2));
    }

    private boolean isGrowthReverted(double now, double windowRate, double target) {
        double from = grewFrom;
        grewFrom = 0;
        if (windowRate >= WORTHWHILE * rateBeforeGrowth) {
            backOff = MIN_BACK_OFF;
            noGrowthUntil = 0;
            return false;
        }
        if (target >= .9 * limit) {
            return false;
        }
        change(clip(Math.max(from, target)), Change.GROWTH_REVERTED);
        noGrowthUntil = now + backOff;
        backOff = Math.min(MAX_BACK_OFF, 2 * backOff);
        slowStart = false;
        return true;
    }

    /** Counts a window without a sign of a queue; a slow start tolerates the noise of small windows. */
    private void countCalmWindow(double latency) {
        double tolerated = slowStart ? Math.max(CALM, 1 + 2 / Math.sqrt(window.samples())) : CALM;
        if (latency < tolerated * base.seconds()) {
            calmWindows++;
        } else {
            calmWindows = 0;
            slowStart = false;
        }
    }

    private void grow(double now, double latency, double windowRate, double target) {
        int needed = slowStart ? 1 : (int) Math.clamp(Math.ceil(32. / window.samples()), 1, 3);
        double fastest = Math.clamp(
                MAX_LATENCY_BY_GROWTH * deadline / base.seconds(), MIN_SLOW_START_GROWTH, MAX_SLOW_START_GROWTH);
        double next = target;
        if (calmWindows >= needed && base.seconds() < deadline / 2 && now >= noGrowthUntil) {
            next = Math.max(target, (slowStart ? fastest : GROWTH) * limit);
        }
        next = clip(Math.min(next, fastest * limit));
        if (next > 1.3 * limit) {
            grewFrom = limit;
            rateBeforeGrowth = windowRate;
            // The calls of the next window are sent with the new limit.
            window.open(now + latency);
        }
        change(next, Change.GROWTH);
    }

    /**
     * The latency is long, is that of few calls, and shows no queue: a probe would not find anything else,
     * and would take so long that waiting calls expire.
     */
    private boolean isProbeTooLong() {
        return base.hasSamples()
                && base.seconds() > LONG * deadline
                && saturatedLatency < CALM_IF_LONG * base.seconds();
    }

    private void wantProbe(double now, double interval) {
        if (!isProbeTooLong() && !probeWanted && now - probedAt > interval) {
            probeWanted = true;
            probeWantedAt = now;
        }
    }

    private void startProbeOnTick(double now) {
        if (!base.isTrusted() || tick(now, PROBE_TICK) != tick(probeWantedAt, PROBE_TICK)) {
            probeWanted = false;
            probe.start(now, (int) Math.max(1, Math.floor(limit / 2)));
            count(Change.PROBE);
        }
    }

    private double tick(double time, double length) {
        return Math.floor((time + wallOffset) / length);
    }

    /**
     * Uses a probe's result. A backend that is as slow at half the limit is slow; otherwise calls queue in
     * it.
     */
    private void probed(double now) {
        probedAt = now;
        grewFrom = 0;
        // At half of the limit, no call shows a queue in any case: wait for calls at the whole limit.
        slowAt = Math.max(slowAt, now + base.seconds());
        if (!probe.isUsable()) {
            return;
        }
        double latency = probe.latency();
        double before = base.seconds();
        boolean asSlow = rate == 0 || latency >= AS_SLOW * limit / rate;
        boolean certain = probe.isCertain();
        if (certain && (latency < before / 2 || latency > 2 * before || (asSlow && latency > 1.3 * before))) {
            base.replace(latency);
        } else if (latency < before || asSlow || !base.hasSamples()) {
            base.blend(latency, probe.ends());
        } else {
            // Calls queue, perhaps those of other gateways: the base rises only as far as keeps the limit
            // from shrinking.
            base.raise((rate * latency - slack()) / (GAIN * rate));
        }
        if (certain) {
            base.trust();
        }
        baseMoved = before == 0 || Math.abs(base.seconds() / before - 1) > .2;
        double target = target();
        if (!probe.wasFull()) {
            // Few calls came at half of the limit: the limit is not the bottleneck, and the rate is an old
            // one.
            target = Math.max(target, initial);
        }
        if (rate > 0 && target < limit) {
            change(clip(target), Change.QUEUEING);
        }
    }

    /**
     * The limit that equals its {@link #target}, for a backend that works on this many calls at once.
     *
     * @param calls the rate of answers times the base latency
     */
    static double limitFor(double calls) {
        double root = (1 + Math.sqrt(1 + 4 * GAIN * calls)) / 2;
        return root * root;
    }

    private double cappedBase() {
        return Math.min(base.seconds(), deadline / 2);
    }

    private double slack() {
        return Math.sqrt(limit);
    }

    private double target() {
        return GAIN * rate * cappedBase() + slack();
    }

    private double clip(double value) {
        return Math.clamp(value, min, max);
    }

    private void change(double next, Change reason) {
        int before = wholeLimit();
        limit = next;
        if (wholeLimit() != before) {
            lastChange = reason;
            count(reason);
        }
    }

    @SuppressWarnings("EnumOrdinal") // An index into an array of this process.
    private void count(Change reason) {
        changes.lazySet(reason.ordinal(), changes.get(reason.ordinal()) + 1);
    }

    /** The changes for this reason. May be called from any thread. */
    @SuppressWarnings("EnumOrdinal") // An index into an array of this process.
    long changes(Change reason) {
        return changes.get(reason.ordinal());
    }
}
