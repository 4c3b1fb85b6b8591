package io.weir.limit;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;

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
 * <p>This class collects the samples and decides which rule judges them; {@link Target}, {@link Growth},
 * {@link Ascent}, {@link LongWaits}, {@link Timeouts} and {@link Probes} are the rules, and
 * {@link LearntLimit} is the number that they move. Samples are judged in windows that last for some
 * latencies and have at least 8 samples. Times are in seconds. Not thread-safe, and without a clock:
 * {@link AdaptiveLimit} confines it to one thread at a time.
 */
final class Knee {

    /** A call that was sent with this share of the limit in use would be slow if calls queued. */
    private static final double NEARLY_FULL_SHARE = .75;

    /** Calls of another kind take this multiple of the base latency on average, by Little's law. */
    private static final double OTHER_CALLS_FACTOR = 8;

    private final LearntLimit limit;
    private final BaseLatency base = new BaseLatency();
    private final SampleWindow window = new SampleWindow();
    private final Target target;
    private final Growth growth;
    private final LongWaits waits;
    private final Timeouts timeouts;
    private final Probes probes;
    private final Ascent ascent;
    private final Silence silence;

    private double utilisation;
    private double answerLatency;
    private double answeredAt = Double.NEGATIVE_INFINITY;

    /**
     * A limit without samples.
     *
     * @param wallOffset the wall clock's time at the samples' time 0
     */
    Knee(LimitBounds bounds, double deadline, double wallOffset) {
        this.limit = new LearntLimit(bounds);
        this.target = new Target(limit, base, deadline);
        this.growth = new Growth(limit, target, base);
        this.waits = new LongWaits(limit, target, base, growth);
        this.timeouts = new Timeouts(limit);
        this.probes = new Probes(limit, target, base, wallOffset);
        this.ascent = new Ascent(limit, target, base);
        this.silence = new Silence(limit, target, base);
    }

    /**
     * Changes the settings. The initial limit counts only while nothing is known. If the share of the
     * instances changes, their limit and their rate of answers change with it; the latency stays.
     */
    void configure(LimitBounds bounds, double nextDeadline, double nextShare) {
        if (nextShare != limit.share()) {
            double factor = nextShare / limit.share();
            target.rescale(factor);
            growth.rescale(factor);
            timeouts.rescale(factor);
            silence.rescale(factor);
            // The samples so far are those of other instances.
            window.close();
            probes.cancel();
            ascent.cancel();
        }
        target.configure(nextDeadline);
        limit.configure(bounds, nextShare, !base.isKnown());
    }

    /**
     * Goes on from a number that was in force meanwhile in place of the limit. The samples so far are those
     * of another limit.
     *
     * @param whole the number for all instances
     */
    void resume(int whole) {
        window.close();
        growth.endTrial();
        probes.cancel();
        ascent.cancel();
        limit.resume(whole);
    }

    // ---------------------------------------------------------------- facts

    /** The limit of the instances that take calls. */
    int value() {
        return probes.isRunning() ? probes.limit() : limit.part();
    }

    /** The limit if all instances took calls. */
    int wholeValue() {
        return probes.isRunning() ? wholeOf(probes.limit()) : limit.whole();
    }

    private int wholeOf(int ofShare) {
        return limit.share() == 1 ? ofShare : limit.wholeOf(ofShare);
    }

    /** As {@link #wholeValue}, without the probe that may run. */
    int wholeLimit() {
        return limit.whole();
    }

    /**
     * The limit of some of the instances.
     *
     * @param limit the limit of all instances
     * @param share the share of those that take calls
     */
    static int partOf(int limit, double share) {
        return LearntLimit.partOf(limit, share);
    }

    Change lastChange() {
        return probes.isRunning() ? Change.PROBE : limit.lastChange();
    }

    /** The changes for this reason. May be called from any thread. */
    long changes(Change reason) {
        return limit.changes(reason);
    }

    double baseLatency() {
        return base.seconds();
    }

    double rate() {
        return target.rate();
    }

    double utilisation() {
        return utilisation;
    }

    boolean isAtFloor() {
        return limit.part() <= limit.min();
    }

    /** Whether {@link #started} must be called for each call. */
    boolean isHolding() {
        return probes.isHolding();
    }

    /**
     * A call is a sample of the base latency if at most this number of calls is in flight, itself included.
     */
    int baseInFlight() {
        return probes.isRunning() ? 0 : (int) Math.max(1, limit.calls() / 2);
    }

    /**
     * The wait after which {@link #waited} must be called, since no window can judge the limit while calls
     * can still wait; infinite: a window can.
     */
    double longWait() {
        return waits.due();
    }

    /** Whether {@link #queued} must be called for each call that has to wait. */
    boolean isSilencePossible() {
        return silence.isPossible();
    }

    /**
     * The limit that equals its target, for a backend that works on this many calls at once.
     *
     * @param calls the rate of answers times the base latency
     */
    static double limitFor(double calls) {
        double root = (1 + Math.sqrt(1 + 4 * Target.GAIN * calls)) / 2;
        return root * root;
    }

    // ---------------------------------------------------------------- samples

    void started(double now, int inFlight) {
        probes.started(now, inFlight);
    }

    /**
     * A call waits for a permit, or was refused one. If calls take longer in the backend than they can wait,
     * no window judges the limit in time. Then the limit grows unless there is a sign of a queue.
     *
     * @param since the moment at which it started to wait
     */
    void waited(double now, double since) {
        if (probes.isRunning() || ascent.isOnTrial()) {
            waits.waitsSince(since);
        } else if (waits.tryGrow(now, since)) {
            window.open(now + (base.isKnown() ? base.seconds() : LongWaits.LONG * target.deadline()));
        }
    }

    /** A call has to wait for a permit, since now. */
    void queued(double now) {
        if (!probes.isRunning() && ascent.isAllowed(now) && silence.tryGrow(now, ascent.highestRate())) {
            window.close();
            growth.endTrial();
            probes.forgo();
        }
    }

    /**
     * A call has ended.
     *
     * @param isBase whether it is a sample of the base latency
     * @param inFlightAtStart the calls in flight when it started, including it
     * @param inFlight the calls in flight, including it
     */
    void ended(double now, double latency, Evidence evidence, boolean isBase, int inFlightAtStart, int inFlight) {
        silence.ended(now, evidence, inFlight >= value());
        // While more calls are tried, a probe would hold back those that wait until they are refused.
        if (!ascent.isOnTrial() && !growth.isOnTrial()) {
            probes.startIfWanted(now);
        }
        if (probes.isRunning()) {
            endedInProbe(now, evidence, inFlight);
            return;
        }
        if (inFlight < value()) {
            waits.nothingWaits();
        }
        skipUnused(now - latency);
        waits.ended(now);
        ascent.count(now, evidence);
        if (evidence == Evidence.QUOTA && window.isOpen() && window.hasBegun(now)) {
            window.addQuota();
        }
        if (evidence == Evidence.NONE || evidence == Evidence.QUOTA) {
            return;
        }
        boolean isOnTrial = ascent.isOnTrial();
        if (isOnTrial) {
            ascent.ended(now, latency, evidence, inFlight >= limit.part());
        }
        if (isSentTooLate(now, latency, evidence)) {
            return;
        }
        if (evidence == Evidence.ANSWERED) {
            answeredAt = now;
            silence.answered(now, latency, inFlight, ascent.highestRate());
        }
        waits.judged(now, latency, evidence == Evidence.ANSWERED);
        if (isBase && evidence == Evidence.ANSWERED) {
            base.add(latency, latency > LongWaits.LONG * target.deadline());
        }
        if (isOnTrial) {
            return;
        }
        if (ascent.begins(now, latency, evidence, inFlightAtStart, inFlight)) {
            window.close();
            growth.endTrial();
        } else {
            addToWindow(now, latency, evidence, inFlightAtStart, inFlight);
        }
    }

    private void endedInProbe(double now, Evidence evidence, int inFlight) {
        if (probes.areOver(now, evidence, inFlight, answerLatency)) {
            window.close();
            growth.endTrial();
            waits.probed(now);
            if (probes.judge(isSaturated())) {
                growth.endSlowStart();
            }
        }
    }

    private void addToWindow(double now, double latency, Evidence evidence, int inFlightAtStart, int inFlight) {
        if (!window.isOpen()) {
            window.open(now);
        } else if (window.hasBegun(now)) {
            boolean shed = evidence == Evidence.SHED
                    || (evidence == Evidence.UNAVAILABLE && latency < Math.max(base.seconds() / 2, .001));
            window.add(evidence, shed, latency, inFlightAtStart, inFlight >= limit.part());
            if (evidence == Evidence.ANSWERED
                    && latency < Growth.CALM * base.seconds()
                    && inFlightAtStart >= NEARLY_FULL_SHARE * limit.part()) {
                window.addFast();
            }
            if (window.isComplete(now, target.deadline(), limit.calls(), growth.isOnTrial())) {
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
        double unused = startedAt - waits.endedAt();
        if (unused > Target.FORGOTTEN && !waits.isUnused()) {
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
                && latency < Growth.CALM * base.seconds()
                && now - answeredAt < target.deadline();
    }

    // ---------------------------------------------------------------- verdicts

    private void judge(double now) {
        utilisation = window.utilisation();
        if (window.isMostlyTimeouts()) {
            boolean hasAnswered = answeredAt > Double.NEGATIVE_INFINITY;
            if (timeouts.areJudged(now, window, target.deadline(), answerLatency, hasAnswered)) {
                growth.endTrial();
                target.forgetRate();
            }
            return;
        }
        if (window.answers() > 0) {
            answerLatency = window.meanAnswerLatency();
        }
        if (timeouts.areOver(window, target.deadline())) {
            target.forgetRate();
        } else if (isShedding()) {
            judgeSheds();
        } else if (isSaturated()) {
            judgeSaturated(now, window.answers() / window.elapsed(now));
        }
    }

    /** Whether the limit was the bottleneck in the last window. */
    private boolean isSaturated() {
        return utilisation >= .5;
    }

    /** A 429 counts only if the answers to other calls are slow: otherwise it concerns one caller. */
    private boolean isShedding() {
        boolean isCalm =
                window.answers() > 0 && base.isKnown() && window.meanAnswerLatency() < Growth.CALM * base.seconds();
        int sheds = window.sheds() + (isCalm ? 0 : window.quotas());
        return sheds >= 2 && sheds > window.samples() / 100.;
    }

    /** Lowers the limit of a backend that refuses calls to the number of calls that it answered at once. */
    private void judgeSheds() {
        double next = window.maxInFlightAnswered();
        if (isSaturated() && target.rate() > 0) {
            next = Math.min(next, target.rate() * answerLatency + .5);
        }
        next = Math.max(next, .7 * limit.calls());
        if (next < limit.calls()) {
            limit.change(Math.max(limit.min(), next), Change.SHEDDING);
        }
        growth.endTrial();
    }

    /** Judges a window in which the limit was the bottleneck. */
    private void judgeSaturated(double now, double windowRate) {
        boolean full = utilisation >= .95;
        learn(now, windowRate, window.meanLatency());
        double calls = target.calls();
        if (growth.isOnTrial() && growth.isReverted(now, windowRate, calls)) {
            return;
        }
        growth.countCalmWindow(window.meanLatency(), window.samples());
        if (calls >= limit.calls()) {
            if (growth.grow(now, window.samples(), windowRate, calls)) {
                // The calls of the next window are sent with the new limit.
                window.open(now + window.meanLatency());
            }
        } else if (calls >= .75 * limit.calls() || limit.calls() <= limit.min() + 1) {
            if (full && probes.haveRun()) {
                limit.change(limit.clip(limit.calls() + .2 * (calls - limit.calls())), Change.QUEUEING);
            }
        } else if (full) {
            probes.wantSoon(now);
        }
        if (full && !growth.isOnTrial()) {
            probes.wantRegularly(now);
        }
    }

    private void learn(double now, double windowRate, double latency) {
        if (target.learn(now, windowRate, latency, growth.isOnTrial())) {
            // What the last growth brought cannot be told any more: the limit was not in use meanwhile.
            growth.endTrial();
            growth.startSlowly();
            probes.wantAfterCalm(now);
        }
        if (!base.isKnown() || isOfShorterCalls(windowRate, latency) || isOfSomeCalls(windowRate)) {
            base.guess(target.firstGuess(windowRate, latency));
            growth.startSlowly();
        }
    }

    /**
     * Whether the base latency is that of a few calls, from before the limit was the bottleneck for the first
     * time, and those of the window take longer and are fewer: they are calls of another kind, not more of
     * them. A long latency stays: its calls have no time for a trial of more of them.
     */
    private boolean isOfShorterCalls(double windowRate, double latency) {
        return base.hasSamples()
                && !base.isTrusted()
                && !probes.haveRun()
                && latency > Growth.CALM * base.seconds()
                && latency < LongWaits.LONG * target.deadline()
                && ascent.areFewer(windowRate);
    }

    /**
     * Whether the base latency is that of a part of the calls, and others hold the permits: in a queue no
     * answer is fast.
     */
    private boolean isOfSomeCalls(double windowRate) {
        return window.areManyFast() && limit.calls() >= OTHER_CALLS_FACTOR * base.seconds() * windowRate;
    }
}
