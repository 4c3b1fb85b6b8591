package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.PeerProxy.Places;
import io.weir.perf.run.Processes.Role;
import io.weir.perf.run.RunningServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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
    private static final String WRK = "wrk";
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
        Stream<String> wrk = Host.has(WRK)
                ? Stream.empty()
                : Stream.of("Without wrk there are no figures of forwarding, refusal and memory: apt-get install wrk.");
        Stream<String> peers = extent(true).peers().stream()
                .filter(peer -> !peer.isInstalled())
                .map(PeerProxy::missingSentence);
        return Stream.concat(peers, wrk).toList();
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        ComparisonExtent extent = extent(context.quick());
        int openFiles = openFiles();
        // A process has other files and callers, too.
        int waiting = Math.min(extent.waiting(), openFiles / 2 - 500);
        describe(extent, openFiles, waiting, context);
        // Bound without listening: no other process gets this port, and connections to it fail.
        try (Socket gone = new Socket()) {
            gone.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            int served = startServed(context);
            List<PeerMeasurement> proxies = new ArrayList<>();
            for (PeerProxy peer : extent.installed()) {
                RunningServer sick = startSick("sick-" + peer.label(), Host.freePort(), context);
                Places places = places(served, gone.getLocalPort(), sick.port(), openFiles, context);
                proxies.add(PeerMeasurement.start(peer, places, sick, extent, context));
            }
            if (Host.has(WRK)) {
                for (PeerMeasurement proxy : proxies) {
                    proxy.warmUp();
                }
                PeerRates.measure(proxies, extent.rounds(), Duration.ofSeconds(extent.roundSeconds()), context);
            }
            for (PeerMeasurement proxy : proxies) {
                proxy.measureFaults();
                proxy.stop();
                if (Host.has(WRK)) {
                    Places places =
                            places(served, gone.getLocalPort(), proxy.sick().port(), openFiles, context);
                    PeerMeasurement fresh = PeerMeasurement.start(proxy.peer(), places, proxy.sick(), extent, context);
                    fresh.measureMemory(waiting);
                    fresh.stop();
                }
                context.stop(proxy.sick());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Places places(int served, int gone, int sick, int openFiles, ExperimentContext context) {
        return new Places(Host.freePort(), Host.freePort(), served, gone, sick, context.cores(), openFiles);
    }

    private void describe(ComparisonExtent extent, int openFiles, int waiting, ExperimentContext context) {
        List<PeerProxy> installed = extent.installed();
        context.property("compare", installed.stream().map(PeerProxy::label).collect(Collectors.joining(",")));
        missingTools().forEach(context::note);
        installed.forEach(peer ->
                peer.version().ifPresent(version -> context.property(peer.label() + ".version", version)));
        if (Host.has(WRK)) {
            context.property("wrk.version", Host.firstLine(WRK, "-v"));
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

    /** How many of the wanted open files this user is allowed. */
    static int openFiles() {
        List<String> command = Host.withOpenFiles(PeerProxy.OPEN_FILES, List.of("/bin/sh", "-c", "ulimit -n"));
        String granted = Host.firstLine(command.toArray(String[]::new));
        return granted.equals("unlimited")
                ? PeerProxy.OPEN_FILES
                : Math.min(PeerProxy.OPEN_FILES, Integer.parseInt(granted));
    }

    /**
     * The backend that answers at once: nginx if installed, because some proxies are faster than one on a
     * JVM.
     */
    static int startServed(ExperimentContext context) throws InterruptedException {
        boolean nginx = PeerProxy.NGINX.isInstalled();
        Places places = places(0, 0, 0, PeerProxy.OPEN_FILES, context);
        List<String> command = nginx
                ? PeerProxy.command(context, PeerProxy.NGINX_COMMAND, "served.conf", places)
                : PeerProxy.command(context, "${PEER} backend ${PORT}", "", places);
        context.property("served-by", nginx ? "nginx" : "Reactor Netty; nginx is not installed");
        context.processes().start(Role.GENERATOR, "served", command, Map.of());
        context.processes().await("the backend answers", () -> HttpControl.answers(places.url("/served/1")));
        return places.port();
    }

    /** Starts the backend with ten workers for calls of 50 ms, which can hang. */
    static RunningServer startSick(String name, int port, ExperimentContext context) throws InterruptedException {
        Places places = places(0, 0, port, PeerProxy.OPEN_FILES, context);
        List<String> command = PeerProxy.command(context, "${PEER} sick ${SICK_PORT} ${MANAGEMENT_PORT}", "", places);
        ManagedProcess process = context.processes().start(Role.GENERATOR, name, command, Map.of());
        RunningServer sick = RunningServer.local(process, places.sick(), places.managementPort());
        return context.servers().ready(sick, "/health");
    }
}
