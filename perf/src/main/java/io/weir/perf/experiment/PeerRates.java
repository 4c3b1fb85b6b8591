package io.weir.perf.experiment;

import io.weir.perf.result.Requests;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.RateRounds;
import io.weir.perf.run.Wrk;
import java.time.Duration;
import java.util.List;

/** Records the maximum rates at which peers forward and refuse; compares the first one with the others. */
final class PeerRates {

    private final PeerMeasurement peer;
    private final String fact;
    private final RateRounds rounds;
    private boolean complete = true;

    private PeerRates(PeerMeasurement peer, String what, String path, boolean refused) {
        this.peer = peer;
        this.fact = peer.label() + '.' + what;
        this.rounds = peer.rates(path, refused);
    }

    static void measure(List<PeerMeasurement> peers, int rounds, Duration time, ExperimentContext context)
            throws InterruptedException {
        measure(
                "forwarding",
                peers.stream()
                        .map(peer -> new PeerRates(peer, "forward", PeerMeasurement.SERVED, false))
                        .toList(),
                rounds,
                time,
                context);
        measure(
                "refusal",
                peers.stream()
                        .map(peer -> new PeerRates(peer, "refuse", PeerMeasurement.GONE, true))
                        .toList(),
                rounds,
                time,
                context);
    }

    private static void measure(String step, List<PeerRates> all, int rounds, Duration time, ExperimentContext context)
            throws InterruptedException {
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
        try {
            Wrk result = rounds.measure(time);
            if (!rounds.isExpected(result)) {
                context.note(fact + ": " + result.refused() + " of " + result.requests() + " answers were not 2xx"
                        + " (expected: " + rounds.expected() + ").");
            }
        } catch (Wrk.UnansweredException e) {
            complete = false;
        }
    }

    private boolean wasAtItsLimit(ExperimentContext context) {
        return rounds.busyPercent(context.cores()) >= RateRounds.BUSY_PERCENT;
    }

    private void record(ExperimentContext context) {
        if (!complete) {
            context.note(fact + ": no figure, because some requests were not answered.");
            return;
        }
        String rate = wasAtItsLimit(context) ? ".rate" : ".rate.at-least";
        context.fact(fact + rate, Requests.median(rounds.rates()), "1/s");
        context.fact(fact + ".busy", rounds.busyPercent(context.cores()), "% of its cores");
        context.fact(fact + ".cpu", rounds.cpuMicrosPerRequest(), "µs each");
    }

    /** A lower bound if this peer was not at its limit; nothing if the other one was not. */
    private void recordRatio(PeerRates other, ExperimentContext context) {
        if (complete && other.complete && other.wasAtItsLimit(context)) {
            String name = fact + ".of-" + other.peer.label() + (wasAtItsLimit(context) ? "" : ".at-least");
            context.fact(name, rounds.ratio(other.rounds), "times");
        }
    }
}
