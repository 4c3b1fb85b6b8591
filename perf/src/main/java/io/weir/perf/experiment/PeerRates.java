package io.weir.perf.experiment;

import io.weir.perf.result.Requests;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Wrk;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The maximum rates of a peer, round by round. The rounds of all peers alternate: what slows the machine for
 * a while slows them all, and the median of the ratios within a round compares them.
 */
final class PeerRates {

    /** A proxy that used less of its cores was not at its limit. */
    private static final double BUSY_PERCENT = 90;

    private final PeerMeasurement peer;
    private final String fact;
    private final String path;
    private final boolean refused;
    private final List<Double> rates = new ArrayList<>();
    private Duration used = Duration.ZERO;
    private double seconds;
    private long requests;
    private boolean complete = true;

    private PeerRates(PeerMeasurement peer, String what, String path, boolean refused) {
        this.peer = peer;
        this.fact = peer.label() + '.' + what;
        this.path = path;
        this.refused = refused;
    }

    static void measure(List<PeerMeasurement> peers, int rounds, Duration time, ExperimentContext context)
            throws InterruptedException {
        measure("forward", "forwarding", "/served/1", false, peers, rounds, time, context);
        measure("refuse", "refusal", "/gone/1", true, peers, rounds, time, context);
    }

    private static void measure(
            String what,
            String step,
            String path,
            boolean refused,
            List<PeerMeasurement> peers,
            int rounds,
            Duration time,
            ExperimentContext context)
            throws InterruptedException {
        List<PeerRates> all = peers.stream()
                .map(peer -> new PeerRates(peer, what, path, refused))
                .toList();
        for (int round = 0; round < rounds; round++) {
            for (PeerRates one : all) {
                context.beginStep(one.peer.label() + ": " + step);
                one.round(time, context);
                context.endStep();
            }
        }
        for (PeerRates one : all) {
            one.record(context);
            if (one != all.getFirst()) {
                all.getFirst().recordRatio(one, context);
            }
        }
    }

    private void round(Duration time, ExperimentContext context) throws InterruptedException {
        Duration before = peer.proxy().cpuTime();
        try {
            Wrk result = peer.load(time, path);
            if (result.refused() != (refused ? result.requests() : 0)) {
                context.note(fact + ": " + result.refused() + " of " + result.requests() + " answers were not 2xx"
                        + " (expected: " + (refused ? "all" : "none") + ").");
            }
            rates.add(result.perSecond());
            requests += result.requests();
            // Without the start and the end of wrk.
            seconds += result.requests() / result.perSecond();
            used = used.plus(peer.proxy().cpuTime().minus(before));
        } catch (Wrk.UnansweredException e) {
            complete = false;
        }
    }

    private double busyPercent(ExperimentContext context) {
        return busyPercent(used, seconds, context.cores());
    }

    static double busyPercent(Duration used, double seconds, int cores) {
        return 100 * used.toNanos() / 1e9 / seconds / cores;
    }

    private void record(ExperimentContext context) {
        if (!complete) {
            context.note(fact + ": no figure, because some requests were not answered.");
            return;
        }
        double busy = busyPercent(context);
        context.fact(fact + (busy < BUSY_PERCENT ? ".rate.at-least" : ".rate"), Requests.median(rates), "1/s");
        context.fact(fact + ".busy", busy, "% of its cores");
        context.fact(fact + ".cpu", used.toNanos() / 1000.0 / requests, "µs each");
    }

    /** The median of the ratios within a round; a lower bound if this peer was not at its limit. */
    private void recordRatio(PeerRates other, ExperimentContext context) {
        if (!complete || !other.complete || other.busyPercent(context) < BUSY_PERCENT) {
            return;
        }
        double ratio = ratio(rates, other.rates);
        String name = fact + ".of-" + other.peer.label();
        context.fact(busyPercent(context) < BUSY_PERCENT ? name + ".at-least" : name, ratio, "times");
    }

    static double ratio(List<Double> first, List<Double> second) {
        return Requests.median(IntStream.range(0, first.size())
                .mapToObj(round -> first.get(round) / second.get(round))
                .toList());
    }
}
