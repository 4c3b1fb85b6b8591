package io.weir.limit;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;

/** Port. */
final class Knee {

    private static final double GAIN = 1.15;
    private static final double CALM = 1.2;
    private static final double PROBE_INTERVAL = 10;
    private static final double TICK = 1;
    private static final int PRIOR = 64;

    static String off = "";

    private final double min;
    private final double max;
    private final double deadline;
    private final double wallOffset;

    private final SampleWindow window = new SampleWindow();
    private final LatencyProbe probe = new LatencyProbe();

    private double limit;
    private Change lastChange = Change.INITIAL;
    private double utilisation;
    double base;
    private double rate;
    private double rateAt = -100;
    private double answerLatency;

    private double naturalSum;
    private int naturalCount;
    private int naturalBatches;

    private boolean probeWanted;
    private double probeWantedAt;
    private boolean verified;
    private boolean unconverged;
    private double probedAt = -100;
    private double probedLatency;
    int probes;

    private double cap;
    private double capAt;
    private double capWait = 1;
    private int lastMaxAnswered;

    private double blindAt = -100;
    private double limitBeforeBlind;

    private double grewFrom;
    private double rateBeforeGrowth;
    private double noGrowthUntil;
    private double backOff = 2;
    private boolean slowStart;
    private int calmWindows;

    Knee(int min, int max, int initial, double deadline, double wallOffset) {
        this.min = min;
        this.max = max;
        this.limit = initial;
        this.deadline = deadline;
        this.wallOffset = wallOffset;
        this.cap = max;
    }

    int value() {
        return probe.isRunning() ? probe.limit() : (int) (limit + 1e-9);
    }

    Change lastChange() {
        return probe.isRunning() ? Change.PROBE : lastChange;
    }

    double base() {
        return base;
    }

    double rate() {
        return rate;
    }

    double utilisation() {
        return utilisation;
    }

    boolean isHolding() {
        return probe.isHolding();
    }

    /** In-flight calls up to this number are base samples. */
    int baseBelow() {
        return probe.isRunning() ? 0 : (int) Math.max(1, limit / 2);
    }

    void started(double now, int inFlight) {
        probe.started(now, inFlight);
    }

    void ended(double now, double latency, Evidence evidence, boolean isBase, int inFlightAtStart, int inFlight) {
        if (probe.isRunning()) {
            double expected = base > 0 ? effectiveBase() : Math.min(answerLatency, deadline / 2);
            if (probe.ended(now, evidence, inFlight, expected, deadline)) {
                window.close();
                probed(now);
            }
            return;
        }
        if (probeWanted) {
            maybeStartProbe(now);
            if (probe.isRunning()) {
                return;
            }
        }
        if (evidence == Evidence.NONE) {
            return;
        }
        if (isBase && evidence == Evidence.ANSWERED) {
            addNatural(latency);
        }
        if (evidence == Evidence.ANSWERED && !off.contains("S")) {
            split(inFlightAtStart, latency);
        }
        if (!window.isOpen()) {
            window.open(now);
            return;
        }
        if (!window.hasBegun(now)) {
            return;
        }
        boolean shed = evidence == Evidence.SHED
                || evidence == Evidence.UNAVAILABLE && latency < Math.max(base / 2, .001);
        window.add(evidence, shed, latency, inFlightAtStart, inFlight >= (int) (limit + 1e-9));
        if (isComplete(window.samples(), window.meanLatency(), window.elapsed(now))) {
            window.close();
            close(now);
            if (!window.isOpen()) {
                window.open(now);
            }
        }
    }

    private double nAvg, aN, aR, bN, bR;
    private int aC, bC;

    private void split(double n, double lat) {
        if (nAvg == 0) nAvg = n;
        nAvg += (n - nAvg) / 64;
        if (n <= nAvg) {
            aN += n; aR += lat; aC++;
        } else {
            bN += n; bR += lat; bC++;
        }
        if (aC + bC < 128) return;
        if (aC >= 24 && bC >= 24) {
            double nl = aN / aC, nh = bN / bC, rl = aR / aC, rh = bR / bC;
            if (nh > 1.5 * nl && Math.log(rh / rl) > .6 * Math.log(nh / nl)) {
                double t = Math.max(min + 1, GAIN * nh * rl / rh + slack());
                if (t < limit) { limit = t; lastChange = Change.QUEUEING; }
            }
        }
        aN = aR = bN = bR = 0;
        aC = bC = 0;
    }

    private boolean isComplete(int n, double r, double elapsed) {
        if (window.isMostlyTimeouts()) {
            return elapsed >= deadline / 2 && n >= 3;
        }
        if (grewFrom > 0 && n < 32 && elapsed < 1) {
            return false;
        }
        return elapsed >= Math.max(2 * r, .01) && n >= Math.clamp(2 * limit, 8, 24)
                || elapsed >= Math.max(r, .01) && n >= 32
                || elapsed >= Math.max(.5, 2 * r) && n >= 4;
    }

    private void addNatural(double latency) {
        naturalSum += latency;
        naturalCount++;
        double mean = naturalSum / naturalCount;
        if (base == 0 && naturalCount >= 8) {
            base = mean;
        }
        if (naturalCount >= 16) {
            naturalBatches++;
            base += Math.max(.125, 1. / naturalBatches) * (mean - base);
            naturalSum = 0;
            naturalCount = 0;
        }
    }

    private double effectiveBase() {
        return Math.min(base, deadline / 2);
    }

    private double slack() {
        return Math.sqrt(limit);
    }

    private double target() {
        return GAIN * rate * effectiveBase() + slack();
    }

    private double clip(double l) {
        return Math.max(min, Math.min(Math.min(max, cap), l));
    }

    private void close(double now) {
        int n = window.samples();
        double r = window.meanLatency();
        double x = window.answers() / window.elapsed(now);
        utilisation = window.utilisation();
        boolean saturated = utilisation >= .5;
        if (window.isMostlyTimeouts()) {
            timeouts(now, n);
            return;
        }
        if (window.answers() > 0) {
            answerLatency = window.meanAnswerLatency();
        }
        if (limitBeforeBlind > 0 && recovered(n, r)) {
            return;
        }
        int maxAnswered = Math.max(window.maxInFlightAnswered(), lastMaxAnswered);
        lastMaxAnswered = window.maxInFlightAnswered();
        if (window.sheds() > n / 100. && window.sheds() >= 2) {
            shed(now, saturated, maxAnswered);
            return;
        }
        if (cap < max && now - capAt > capWait && saturated && limit >= cap - .5) {
            cap += Math.max(1, .05 * cap);
            capAt = now;
        }
        if (saturated) {
            saturated(now, n, r, x);
        }
    }

    private void timeouts(double now, int n) {
        if (now - blindAt >= deadline) {
            if (limitBeforeBlind == 0 && answerLatency < deadline / 4) {
                limitBeforeBlind = limit;
            }
            limit = Math.max(min, limit * Math.clamp(1 - (double) window.timeouts() / n, .25, .5));
            lastChange = Change.TIMEOUTS;
            blindAt = now;
            grewFrom = 0;
            rate = 0;
        }
    }

    private boolean recovered(int n, double r) {
        if (window.timeouts() < n / 4. && r < deadline / 4 && limit < limitBeforeBlind / 2) {
            limit = clip(limitBeforeBlind / 2);
            lastChange = Change.RECOVERY;
            limitBeforeBlind = 0;
            rate = 0;
            return true;
        }
        if (limit >= limitBeforeBlind / 2) {
            limitBeforeBlind = 0;
        }
        return false;
    }

    private void shed(double now, boolean saturated, int maxAnswered) {
        double next = maxAnswered;
        if (saturated && rate > 0) {
            next = Math.min(next, rate * answerLatency + .5);
        }
        next = Math.max(next, .7 * limit);
        if (next < limit) {
            limit = Math.max(min, next);
            lastChange = Change.SHEDDING;
            if (now - capAt < 2 * capWait) {
                capWait = Math.min(16, 2 * capWait);
            }
            cap = limit;
            capAt = now;
        }
        grewFrom = 0;
    }

    private void saturated(double now, int n, double r, double x) {
        boolean full = utilisation >= .95;
        if (rate == 0 || now - rateAt > Math.max(2, 10 * r) || grewFrom > 0 && x > rate) {
            rate = x;
        } else {
            rate += (x > rate ? .5 : .25) * (x - rate);
        }
        if (now - rateAt > 2) {
            slowStart = true;
            if (now - probedAt > 2) {
                ask(now);
            }
        }
        rateAt = now;
        if (base == 0) {
            base = r;
            slowStart = true;
        }
        double target = target();
        if (grewFrom > 0) {
            double from = grewFrom;
            grewFrom = 0;
            if (x < 1.15 * rateBeforeGrowth && target < .9 * limit) {
                limit = clip(Math.max(from, target));
                lastChange = Change.GROWTH_REVERTED;
                noGrowthUntil = now + backOff;
                slowStart = false;
                backOff = Math.min(16, 2 * backOff);
                return;
            }
            if (x >= 1.15 * rateBeforeGrowth) {
                backOff = 2;
                noGrowthUntil = 0;
            }
        }
        if (r < CALM * base) {
            calmWindows++;
        } else {
            calmWindows = 0;
            slowStart = false;
        }
        if (target >= limit) {
            grow(now, n, r, x, target);
        } else if (target >= .75 * limit || limit <= min + 1) {
            if (full && probes > 0 && limit > 1.1 * probedLatency * rate) {
                limit = clip(limit + .2 * (target - limit));
                lastChange = Change.QUEUEING;
            }
        } else if (full && now - probedAt > 1) {
            ask(now);
        }
        if (full && grewFrom == 0 && now - probedAt > 1) {
            boolean due = Math.floor((now + wallOffset) / PROBE_INTERVAL)
                            != Math.floor((probedAt + wallOffset) / PROBE_INTERVAL)
                    || now - probedAt > PROBE_INTERVAL;
            if (unconverged || due) {
                ask(now);
            }
        }
    }

    private void grow(double now, int n, double r, double x, double target) {
        double next = target;
        int needed = (int) Math.clamp(Math.ceil(32. / n), 1, 3);
        if (calmWindows >= needed && base < deadline / 2 && now >= noGrowthUntil) {
            boolean fast = !verified && backOff == 2 || slowStart;
            next = Math.max(target, (fast ? 2 : 1.5) * limit);
        }
        next = clip(Math.min(next, 2 * limit));
        if (next > 1.3 * limit) {
            grewFrom = limit;
            rateBeforeGrowth = x;
            window.open(now + r);
        }
        if (next != limit) {
            lastChange = Change.GROWTH;
        }
        limit = next;
    }

    private void ask(double now) {
        if (!probeWanted) {
            probeWanted = true;
            probeWantedAt = now;
        }
    }

    private void maybeStartProbe(double now) {
        boolean known = verified || naturalBatches >= 8;
        if (known && Math.floor((now + wallOffset) / TICK) == Math.floor((probeWantedAt + wallOffset) / TICK)) {
            return;
        }
        probeWanted = false;
        probes++;
        probe.start(now, (int) Math.max(1, Math.floor(limit / 2)));
    }

    private void probed(double now) {
        if (probe.ends() == 0 && !probe.isUsable()) {
            return;
        }
        probedAt = now;
        if (!probe.isUsable()) {
            return;
        }
        double m = probe.latency();
        double old = base;
        double weight = (double) probe.ends() / (probe.ends() + PRIOR);
        boolean slowAtHalf = rate == 0 || m >= .85 * limit / rate;
        if (base == 0 || !verified || m < base / 2 || m > 2 * base) {
            base = m;
        } else if (m < base || slowAtHalf) {
            base += weight * (m - base);
        } else {
            base = Math.max(base, (rate * m - slack()) / (GAIN * rate));
        }
        if (rate > 0 && slowAtHalf && m > 1.3 * old && base < m) {
            base = m;
        }
        probedLatency = m;
        naturalBatches = Math.max(naturalBatches, 8);
        verified = true;
        unconverged = old == 0 || Math.abs(base / old - 1) > .2;
        naturalSum = 0;
        naturalCount = 0;
        double target = target();
        if (target < limit && rate > 0) {
            limit = clip(target);
            lastChange = Change.QUEUEING;
        }
        grewFrom = 0;
    }
}
