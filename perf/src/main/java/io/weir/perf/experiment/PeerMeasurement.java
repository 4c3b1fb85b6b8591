package io.weir.perf.experiment;

import io.weir.perf.experiment.PeerComparison.ComparisonExtent;
import io.weir.perf.result.Requests;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.PeerProxy.Places;
import io.weir.perf.run.Processes.Role;
import io.weir.perf.run.RateRounds;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.Wrk;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Measures one proxy: its speed, faults of a backend behind it, and the memory of waiting exchanges. */
record PeerMeasurement(
        PeerProxy peer,
        Places places,
        RunningServer sick,
        ComparisonExtent extent,
        ExperimentContext context,
        ManagedProcess proxy) {

    static final String SERVED = "/served/1";
    static final String GONE = "/gone/1";
    private static final int WAITING_PORTIONS = 10;
    private static final double CAPACITY = 200;
    private static final int TIMEOUT_SECONDS = 2;

    static PeerMeasurement start(
            PeerProxy peer, Places places, RunningServer sick, ComparisonExtent extent, ExperimentContext context)
            throws InterruptedException {
        context.progress(peer.label() + " starts");
        ManagedProcess proxy = context.start(peer.label(), peer.command(context, places));
        context.processes()
                .await(
                        peer.label() + " answers",
                        () -> HttpControl.answers(places.url(SERVED)) && HttpControl.answers(places.url("/sick/work")));
        return new PeerMeasurement(peer, places, sick, extent, context, proxy);
    }

    void stop() {
        context.processes().stop(proxy);
    }

    String label() {
        return peer.label();
    }

    void warmUp() throws InterruptedException {
        context.progress(label() + " warms up");
        Duration time = Duration.ofSeconds(extent.warmUpSeconds());
        warmUp(time, SERVED);
        warmUp(time.dividedBy(2), GONE);
    }

    private void warmUp(Duration time, String path) throws InterruptedException {
        try {
            rates(path, path.equals(GONE)).warmUp(time);
        } catch (Wrk.UnansweredException e) {
            // A cold proxy leaves some requests unanswered; the measured rounds are checked.
        }
    }

    RateRounds rates(String path, boolean refused) {
        return new RateRounds(context.processes(), List.of(), proxy, places.url(path), refused);
    }

    void measureFaults() throws InterruptedException {
        PhasedLoad load = extent.load()
                .on(context, peer.label(), places.url(""), TIMEOUT_SECONDS, "/sick/work", SERVED)
                .binding(peer == PeerProxy.WEIR);
        if (extent.containedPercent() > 0) {
            LoadAssertion contained = LoadAssertion.successPercent(extent.containedPercent());
            LoadAssertion healed = LoadAssertion.successPercent(extent.healedPercent());
            load.require(PhasedLoad::isFault, NeighbourLoad.NEIGHBOUR, List.of(contained))
                    .require(PhasedLoad::isAfter, NeighbourLoad.SICK, List.of(healed));
        }
        load.runFaults(
                peer.label() + ": ", sick, fault -> fault.equals(PeerComparison.HANG) ? "{\"kind\": \"hang\"}" : "");
        int[] faults = extent.load().phases().faults();
        NeighbourLoad.recordFault(load, faults[0], peer.label() + ".hang.", context);
        int overload = faults[1];
        String prefix = peer.label() + ".overload.";
        double inTime = load.requests(overload, NeighbourLoad.SICK).servedWithin(Duration.ofSeconds(1));
        Requests neighbour = load.requests(overload, NeighbourLoad.NEIGHBOUR);
        Requests after = load.requests(overload + 1, NeighbourLoad.SICK);
        context.fact(prefix + "goodput", 100 * inTime / (CAPACITY * load.seconds(overload)), "% of its capacity");
        context.fact(prefix + "neighbour.success", neighbour.successPercent(), "%");
        context.fact(prefix + "after.success", after.successPercent(), "%");
    }

    void measureMemory(int waiting) throws InterruptedException {
        // Classes that load with the first requests do not count.
        warmUp(Duration.ofSeconds(1), SERVED);
        context.beginStep(peer.label() + ": memory");
        long rssBefore = proxy.rssBytes();
        long pssBefore = proxy.pssBytes();
        int portion = waiting / WAITING_PORTIONS;
        String wrk = "wrk -t1 -d600s --timeout 600s -c" + portion + ' ' + places.url("/held/1");
        List<String> command = Host.withOpenFiles(PeerProxy.OPEN_FILES, List.of(wrk.split(" ", -1)));
        List<ManagedProcess> callers = new ArrayList<>();
        long until = context.nowMillis() + 40_000;
        // In portions: some proxies protect themselves against thousands of connections at once.
        for (int i = 1; i <= WAITING_PORTIONS; i++) {
            callers.add(context.processes().start(Role.CALLER, "wrk-waiting-" + i, command, Map.of()));
            while (held() < portion * i && context.nowMillis() < until) {
                context.sleepUntil(context.nowMillis() + 100);
            }
        }
        int held = held();
        String prefix = peer.label() + ".memory";
        if (held >= portion * WAITING_PORTIONS) {
            long pss = proxy.pssBytes();
            context.fact(prefix + ".rss.before", rssBefore / 1e6, "MB");
            context.fact(prefix + ".rss.waiting", proxy.rssBytes() / 1e6, "MB");
            context.fact(prefix + ".pss.before", pssBefore / 1e6, "MB");
            context.fact(prefix + ".pss.waiting", pss / 1e6, "MB");
            context.fact(prefix + ".each", (pss - pssBefore) / 1e3 / held, "kB");
        } else {
            context.note(prefix + ": no figure, only " + held + " of " + waiting + " exchanges waited.");
        }
        context.endStep();
        context.processes().stop(callers.toArray(ManagedProcess[]::new));
    }

    private int held() {
        return HttpControl.get(sick.management() + "/held")
                .map(Integer::parseInt)
                .orElse(0);
    }
}
