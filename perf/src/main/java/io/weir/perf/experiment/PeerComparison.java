package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Host;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.PeerProxy.Places;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.Wrk;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Compares Weir with other proxies, with limits as equal as possible: their rates in alternating rounds, the
 * rest one after the other.
 *
 * <ul>
 *   <li>Forwarding: the maximum rate over 32 connections to a backend that answers at once.
 *   <li>Refusal: the same to a port without a listener. A proxy with a breaker refuses by itself.
 *   <li>Hang: a backend with ten workers hangs; what do its callers and those of its neighbour notice?
 *   <li>Overload: the backend gets four times its capacity.
 *   <li>Memory: ten thousand exchanges wait for an answer in a fresh process.
 * </ul>
 *
 * <p>All proxies have the same warm-up. By default a proxy has one core, and load and backends have the
 * others. A proxy that did not use nearly all of its cores was not at its limit; its rate is named {@code
 * at-least}.
 */
@Measures(
        name = "peers",
        question = "Weir, Spring Cloud Gateway, bare proxy, HAProxy, nginx, Envoy: speed, hang, overload, memory?",
        quickMinutes = 9,
        fullMinutes = 27,
        cpus = 1)
class PeerComparison extends Experiment {

    static final String HANG = "hang";
    private static final int MIN_WARM_UP_SECONDS = 5;

    /**
     * The extent of the experiment.
     *
     * @param warmUpSeconds for forwarding; half of it for refusal
     * @param waiting the number of exchanges that wait
     * @param containedPercent the neighbour's required successes during a fault, if the peer is Weir; 0: none
     * @param healedPercent the required successes after a fault
     */
    record ComparisonExtent(
            List<PeerProxy> peers,
            int warmUpSeconds,
            int rounds,
            int roundSeconds,
            NeighbourLoad load,
            int waiting,
            int containedPercent,
            int healedPercent) {

        List<PeerProxy> installed() {
            return peers.stream().filter(PeerProxy::isInstalled).toList();
        }
    }

    static Phases phases(int calmSeconds, int faultSeconds, int afterSeconds) {
        return new Phases(Math.max(MIN_WARM_UP_SECONDS, calmSeconds + 1))
                .thenFault(calmSeconds, HANG, faultSeconds, afterSeconds)
                .thenFault(calmSeconds, PhasedLoad.OVERLOAD, faultSeconds, afterSeconds);
    }

    ComparisonExtent extent(boolean quick) {
        Phases phases = quick ? phases(2, 5, 4) : phases(10, 15, 15);
        NeighbourLoad load = new NeighbourLoad(phases, 100, 100, 800);
        List<PeerProxy> all = List.of(PeerProxy.values());
        return new ComparisonExtent(all, quick ? 20 : 60, quick ? 3 : 5, quick ? 2 : 10, load, 10_000, 97, 80);
    }

    @Override
    public List<String> missingTools() {
        return Stream.concat(PeerProxy.missing(extent(true).peers()), Wrk.missing("forwarding, refusal and memory"))
                .toList();
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        ComparisonExtent extent = extent(context.quick());
        try (PeerBackends backends = PeerBackends.start(context)) {
            // A process has other files and callers, too.
            int waiting = Math.min(extent.waiting(), backends.openFiles() / 2 - 500);
            describe(extent, backends.openFiles(), waiting, context);
            List<PeerMeasurement> proxies = new ArrayList<>();
            for (PeerProxy peer : extent.installed()) {
                RunningServer sick = PeerBackends.startSick("sick-" + peer.label(), context);
                proxies.add(PeerMeasurement.start(peer, backends.places(sick.port()), sick, extent, context));
            }
            if (Host.has(Wrk.PROGRAM)) {
                for (PeerMeasurement proxy : proxies) {
                    proxy.warmUp();
                }
                PeerRates.measure(proxies, extent.rounds(), Duration.ofSeconds(extent.roundSeconds()), context);
            }
            for (PeerMeasurement proxy : proxies) {
                proxy.measureFaults();
                proxy.stop();
                if (Host.has(Wrk.PROGRAM)) {
                    Places places = backends.places(proxy.sick().port());
                    PeerMeasurement fresh = PeerMeasurement.start(proxy.peer(), places, proxy.sick(), extent, context);
                    fresh.measureMemory(waiting);
                    fresh.stop();
                }
                context.stop(proxy.sick());
            }
        }
    }

    private void describe(ComparisonExtent extent, int openFiles, int waiting, ExperimentContext context) {
        List<PeerProxy> installed = extent.installed();
        context.property("compare", installed.stream().map(PeerProxy::label).collect(Collectors.joining(",")));
        missingTools().forEach(context::note);
        installed.forEach(peer ->
                peer.version().ifPresent(version -> context.property(peer.label() + ".version", version)));
        if (Host.has(Wrk.PROGRAM)) {
            context.property("wrk.version", Host.firstLine(Wrk.PROGRAM, "-v"));
        }
        if (waiting < extent.waiting()) {
            context.note("A process may open %d files here, so %d exchanges wait, not %d (expected: ulimit -H -n %d)."
                    .formatted(openFiles, waiting, extent.waiting(), PeerProxy.OPEN_FILES));
        }
        context.note("The backends share the generator's cores.");
        context.property("limits", context.cores() + " cores each, and the limits of perf/peers");
        context.property("warm-up", extent.warmUpSeconds() + " s for each peer");
        if (context.quick()) {
            context.note("The warm-up of a quick run is too short for programs on a JVM (weir, plain-gateway, bare) to"
                    + " reach their full speed.");
        }
    }
}
