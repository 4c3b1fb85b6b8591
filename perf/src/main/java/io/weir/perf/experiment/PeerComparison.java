package io.weir.perf.experiment;

import io.weir.perf.experiment.PeerProxy.Places;
import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Latencies;
import io.weir.perf.result.Request;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.ExperimentName;
import io.weir.perf.run.Experiment.Question;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.Processes.Role;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.Wrk;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Compares Weir with other proxies, one after the other, with limits as equal as possible.
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
@ExperimentName("peers")
@Question("Weir beside Spring Cloud Gateway, a bare proxy, HAProxy, nginx, Envoy: speed, hang, overload, memory?")
class PeerComparison extends Experiment {

    private static final String SICK = "sick";
    private static final String NEIGHBOUR = "neighbour";
    private static final String HANG = "hang";
    private static final String WRK = "wrk";
    private static final int CONNECTIONS = 32;
    private static final int WAITING_PORTIONS = 10;
    private static final double CAPACITY = 200;
    private static final double BUSY_PERCENT = 90;

    /**
     * The extent of the experiment.
     *
     * @param warmUp for forwarding; half of it for refusal
     * @param waiting the number of exchanges that wait
     * @param containedPercent the neighbour's required successes during a fault, if the peer is Weir; 0: none
     * @param healedPercent the required successes after a fault
     */
    record ComparisonExtent(
            List<PeerProxy> peers,
            Duration warmUp,
            Duration each,
            int rounds,
            Duration calm,
            Duration fault,
            Duration after,
            int sickRate,
            int neighbourRate,
            int overloadRate,
            int waiting,
            int containedPercent,
            int healedPercent) {

        Phases phases() {
            return new Phases()
                    .then(PhasedLoad.WARM_UP, calm.plusSeconds(1))
                    .thenFault(calm, HANG, fault, after)
                    .thenFault(calm, PhasedLoad.OVERLOAD, fault, after);
        }

        List<PeerProxy> installed() {
            return peers.stream().filter(PeerProxy::isInstalled).toList();
        }
    }

    ComparisonExtent extent(boolean quick) {
        return new ComparisonExtent(
                List.of(PeerProxy.values()),
                Duration.ofSeconds(quick ? 20 : 60),
                Duration.ofSeconds(quick ? 3 : 10),
                quick ? 1 : 3,
                Duration.ofSeconds(quick ? 2 : 10),
                Duration.ofSeconds(quick ? 5 : 15),
                Duration.ofSeconds(quick ? 4 : 15),
                100,
                100,
                800,
                10_000,
                97,
                80);
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        ComparisonExtent extent = extent(quick);
        int peers = extent.installed().size();
        Duration speed =
                extent.warmUp().multipliedBy(3).dividedBy(2).plus(extent.each().multipliedBy(2L * extent.rounds()));
        return new Estimate(
                5 * peers, speed.plus(extent.phases().length()).plusSeconds(20).multipliedBy(peers));
    }

    @Override
    public int cpus() {
        return 1;
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
        boolean wrk = Host.has(WRK);
        List<PeerProxy> installed = extent.installed();
        context.property("compare", installed.stream().map(PeerProxy::label).collect(Collectors.joining(",")));
        missingTools().forEach(context::note);
        installed.forEach(peer ->
                peer.version().ifPresent(version -> context.property(peer.label() + ".version", version)));
        if (wrk) {
            context.property("wrk.version", Host.firstLine(WRK, "-v"));
        }
        int openFiles = openFiles(context);
        // A process has other files and callers, too.
        int waiting = Math.min(extent.waiting(), openFiles / 2 - 500);
        if (waiting < extent.waiting()) {
            context.note(String.format(
                    Locale.ROOT,
                    "A process may open %d files here, so %d exchanges wait, not %d (expected: ulimit -H -n %d).",
                    openFiles,
                    waiting,
                    extent.waiting(),
                    PeerProxy.OPEN_FILES));
        }
        context.note("The backends share the generator's cores.");
        context.property("warm-up", extent.warmUp().toSeconds() + " s for each peer");
        if (context.quick()) {
            context.note("The warm-up of a quick run is too short for programs on a JVM (weir, plain-gateway, bare) to"
                    + " reach their full speed.");
        }
        // Bound without listening: no other process gets this port, and connections to it fail.
        try (Socket gone = new Socket()) {
            gone.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            int served = startServed(context);
            for (PeerProxy peer : installed) {
                RunningServer sick = startSick(context);
                Places places = places(served, gone.getLocalPort(), sick, openFiles, context);
                ManagedProcess proxy = start(peer, places, context);
                if (wrk) {
                    measureSpeed(peer, proxy, places, extent, context);
                }
                measureFaults(peer, places, sick, extent, context);
                context.processes().stop(proxy);
                if (wrk) {
                    Places fresh = places(served, gone.getLocalPort(), sick, openFiles, context);
                    measureMemory(peer, fresh, sick, waiting, context);
                }
                context.stop(sick);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** How many of the wanted open files this user is allowed. */
    private static int openFiles(ExperimentContext context) throws InterruptedException {
        ManagedProcess shell = context.processes()
                .start(
                        Role.GENERATOR,
                        "open-files",
                        Host.withOpenFiles(PeerProxy.OPEN_FILES, List.of("/bin/sh", "-c", "ulimit -n")),
                        Map.of());
        shell.awaitExit();
        context.processes().stop(shell);
        String granted = shell.output().strip();
        return granted.equals("unlimited")
                ? PeerProxy.OPEN_FILES
                : Math.min(PeerProxy.OPEN_FILES, Integer.parseInt(granted));
    }

    private static Places places(int served, int gone, RunningServer sick, int openFiles, ExperimentContext context) {
        return new Places(Host.freePort(), Host.freePort(), served, gone, sick.port(), context.cores(), openFiles);
    }

    /**
     * The backend that answers at once: nginx if installed, because some proxies are faster than a backend on
     * a JVM.
     */
    private static int startServed(ExperimentContext context) throws InterruptedException {
        int port = Host.freePort();
        boolean nginx = PeerProxy.NGINX.isInstalled();
        List<String> command;
        if (nginx) {
            Places places = new Places(port, port, port, port, port, 1, PeerProxy.OPEN_FILES);
            var file = PeerProxy.fill(context.root().resolve("perf/peers"), "served.conf", places, context.temporary());
            command = PeerProxy.nginx(file.toString(), context.temporary());
        } else {
            command = PeerProxy.peerProgram(context, "backend", Integer.toString(port));
        }
        context.property("served-by", nginx ? "nginx" : "Reactor Netty; nginx is not installed");
        context.processes().start(Role.GENERATOR, "served", command, Map.of());
        context.processes()
                .await("the backend answers", () -> HttpControl.answers("http://127.0.0.1:" + port + "/served/1"));
        return port;
    }

    private static RunningServer startSick(ExperimentContext context) throws InterruptedException {
        int port = Host.freePort();
        int control = Host.freePort();
        List<String> command = PeerProxy.peerProgram(context, SICK, "" + port, "" + control);
        ManagedProcess process = context.processes()
                .start(Role.GENERATOR, SICK, Host.withOpenFiles(PeerProxy.OPEN_FILES, command), Map.of());
        RunningServer sick = RunningServer.local(process, port, control);
        context.processes().await("the sick backend answers", () -> HttpControl.answers(sick.url() + "/health"));
        return sick;
    }

    /** Starts a proxy; returns when it answers for both backends. */
    private static ManagedProcess start(PeerProxy peer, Places places, ExperimentContext context)
            throws InterruptedException {
        context.progress(peer.label() + " starts");
        ManagedProcess process = context.start(peer.label(), peer.command(context, places));
        context.processes()
                .await(
                        peer.label() + " answers",
                        () -> HttpControl.answers(places.uri("/served/1"))
                                && HttpControl.answers(places.uri("/sick/work")));
        return process;
    }

    private static void measureSpeed(
            PeerProxy peer, ManagedProcess process, Places places, ComparisonExtent extent, ExperimentContext context)
            throws InterruptedException {
        context.progress(peer.label() + " warms up");
        warmUp(extent.warmUp(), places.uri("/served/1"), context);
        warmUp(extent.warmUp().dividedBy(2), places.uri("/gone/1"), context);
        context.beginStep(peer.label() + ": forwarding");
        measureRate(peer.label() + ".forward", process, places.uri("/served/1"), false, extent, context);
        context.beginStep(peer.label() + ": refusal");
        measureRate(peer.label() + ".refuse", process, places.uri("/gone/1"), true, extent, context);
        context.endStep();
    }

    private static void warmUp(Duration time, String uri, ExperimentContext context) throws InterruptedException {
        try {
            Wrk.run(context.processes(), List.of(), CONNECTIONS, time, uri);
        } catch (Wrk.UnansweredException e) {
            // A cold proxy leaves some requests unanswered; the measured rounds are checked.
        }
    }

    /** Records the median rate of the rounds; no figure if a request was not answered. */
    private static void measureRate(
            String fact,
            ManagedProcess process,
            String uri,
            boolean refused,
            ComparisonExtent extent,
            ExperimentContext context)
            throws InterruptedException {
        List<Double> rates = new ArrayList<>();
        Duration before = process.cpuTime();
        double seconds = 0;
        long requests = 0;
        for (int i = 0; i < extent.rounds(); i++) {
            try {
                Wrk result = Wrk.run(context.processes(), List.of(), CONNECTIONS, extent.each(), uri);
                if (result.refused() != (refused ? result.requests() : 0)) {
                    context.note(fact + ": " + result.refused() + " of " + result.requests() + " answers were not 2xx"
                            + " (expected: " + (refused ? "all" : "none") + ").");
                }
                rates.add(result.perSecond());
                requests += result.requests();
                // Without the start and the end of wrk.
                seconds += result.requests() / result.perSecond();
            } catch (Wrk.UnansweredException e) {
                context.note(fact + ": no figure, because some requests were not answered.");
                return;
            }
        }
        Duration used = process.cpuTime().minus(before);
        double busy = busyPercent(used, seconds, context.cores());
        context.fact(fact + (busy < BUSY_PERCENT ? ".rate.at-least" : ".rate"), Latencies.median(rates), "1/s");
        context.fact(fact + ".busy", busy, "% of its cores");
        context.fact(fact + ".cpu", used.toNanos() / 1000.0 / requests, "µs each");
    }

    static double busyPercent(Duration used, double seconds, int cores) {
        return 100 * used.toNanos() / 1e9 / seconds / cores;
    }

    private static void measureFaults(
            PeerProxy peer, Places places, RunningServer sick, ComparisonExtent extent, ExperimentContext context)
            throws InterruptedException {
        PhasedLoad load = new PhasedLoad(context, peer.label(), places.uri(""), Duration.ofSeconds(2), extent.phases())
                .callers(NEIGHBOUR, "/served/1", extent.neighbourRate())
                .callers(SICK, "/sick/work", extent.sickRate(), extent.overloadRate())
                .binding(peer == PeerProxy.WEIR);
        if (extent.containedPercent() > 0) {
            load.require(PhasedLoad::isFault, NEIGHBOUR, LoadAssertion.successPercent(extent.containedPercent()))
                    .require(PhasedLoad::isAfter, SICK, LoadAssertion.successPercent(extent.healedPercent()));
        }
        load.runFaults(
                peer.label() + ": ",
                fault -> {
                    if (fault.equals(HANG)) {
                        sick.setFault("{\"kind\": \"hang\"}");
                    }
                },
                sick::heal);
        Containment.recordFault(load, 1, peer.label() + ".hang.", context);
        String prefix = peer.label() + ".overload.";
        double inTime = load.requests(5, SICK).stream()
                .filter(one -> one.succeeded() && one.micros() <= 1_000_000)
                .count();
        context.fact(prefix + "goodput", 100 * inTime / (CAPACITY * load.seconds(5)), "% of its capacity");
        context.fact(prefix + "neighbour.success", Request.successPercent(load.requests(5, NEIGHBOUR)), "%");
        context.fact(prefix + "after.success", Request.successPercent(load.requests(6, SICK)), "%");
    }

    private static void measureMemory(
            PeerProxy peer, Places places, RunningServer sick, int waiting, ExperimentContext context)
            throws InterruptedException {
        ManagedProcess proxy = start(peer, places, context);
        // Classes that load with the first requests do not count.
        warmUp(Duration.ofSeconds(1), places.uri("/served/1"), context);
        context.beginStep(peer.label() + ": memory");
        long rssBefore = proxy.rssBytes();
        long pssBefore = proxy.pssBytes();
        int portion = waiting / WAITING_PORTIONS;
        String wrk = "wrk -t1 -d600s --timeout 600s -c" + portion + ' ' + places.uri("/held/1");
        List<String> command = Host.withOpenFiles(PeerProxy.OPEN_FILES, List.of(wrk.split(" ", -1)));
        List<ManagedProcess> callers = new ArrayList<>();
        long until = context.nowMillis() + 40_000;
        // In portions: some proxies protect themselves against thousands of connections at once.
        for (int i = 1; i <= WAITING_PORTIONS; i++) {
            callers.add(context.processes().start(Role.CALLER, "wrk-waiting-" + i, command, Map.of()));
            while (held(sick) < portion * i && context.nowMillis() < until) {
                context.sleepUntil(context.nowMillis() + 100);
            }
        }
        int held = held(sick);
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
        context.processes().stop(proxy);
    }

    private static int held(RunningServer sick) {
        return HttpControl.get(sick.management() + "/held")
                .map(Integer::parseInt)
                .orElse(0);
    }
}
