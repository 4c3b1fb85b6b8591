package io.weir.perf.experiment;

import io.weir.perf.experiment.Peer.Places;
import io.weir.perf.run.Bench;
import io.weir.perf.run.Child;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Gatling;
import io.weir.perf.run.Host;
import io.weir.perf.run.Request;
import io.weir.perf.run.Wrk;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Weir beside its peers: the same is asked of each, one after the other, with limits as equal as each can have them.
 *
 * <ul>
 *   <li>Forwarding: as many requests a second as it can, over 32 connections, to a backend that answers at once.
 *   <li>Refusal: the same to a backend where nothing listens. A peer that has found that out refuses by itself; one that cannot asks each time.
 *   <li>Hang: a backend with ten workers hangs; what do its callers and its neighbour's feel?
 *   <li>Overload: it gets four times what it can do.
 *   <li>Memory: ten thousand exchanges wait for an answer, in a process that has done little else.
 * </ul>
 *
 * <p>All are warmed up alike, by the same load for the same time: on a JVM a short run is one of code that is partly not compiled yet. Whoever is measured has one core,
 * unless told otherwise; the load and the backends have the others. How much of its cores a peer used is among the figures: where it is not nearly all, the load was
 * the limit, the peer can do more, and its rate is called {@code at-least}.
 */
class SideBySide implements Experiment {

    private static final String SICK = "sick";
    private static final String NEIGHBOUR = "neighbour";
    private static final String HANG = "hang";
    private static final String WRK = "wrk";
    private static final int CONNECTIONS = 32;
    private static final int WAITING = 10_000;
    private static final int PORTIONS = 10;
    private static final double CAPACITY = 200;
    private static final double BUSY_PERCENT = 90;
    private static final Duration WAIT = Duration.ofSeconds(40);
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    /**
     * How much of it.
     *
     * @param warmUp of forwarding; of refusing half as long
     * @param waiting exchanges at the most that wait
     */
    record Extent(
            List<Peer> peers,
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
            Map<String, String> asserted) {

        static Extent of(boolean quick) {
            return new Extent(
                    List.of(Peer.values()),
                    Duration.ofSeconds(quick ? 20 : 60),
                    Duration.ofSeconds(quick ? 3 : 10),
                    quick ? 1 : 3,
                    Duration.ofSeconds(quick ? 2 : 10),
                    Duration.ofSeconds(quick ? 5 : 15),
                    Duration.ofSeconds(quick ? 4 : 15),
                    100,
                    100,
                    800,
                    WAITING,
                    Map.of("contained.percent", "97", "healed.percent", "80"));
        }

        private Duration loads() {
            return calm.plus(fault).plus(after).multipliedBy(2).plus(gatlingWarmUp());
        }

        private Duration gatlingWarmUp() {
            return calm.plusSeconds(1);
        }

        private Duration ofPeer() {
            return warmUp.multipliedBy(3)
                    .dividedBy(2)
                    .plus(each.multipliedBy(2L * rounds))
                    .plus(loads())
                    .plusSeconds(20);
        }
    }

    @Override
    public String name() {
        return "peers";
    }

    @Override
    public String question() {
        return "Weir beside Spring Cloud Gateway, a bare proxy, HAProxy, nginx, Envoy: forwarding, refusal, hang, overload, memory?";
    }

    @Override
    public int steps(boolean quick) {
        return 5 * (int) present(extent(quick)).count();
    }

    @Override
    public Duration length(boolean quick) {
        Extent extent = extent(quick);
        return extent.ofPeer().multipliedBy(present(extent).count());
    }

    @Override
    public int processes() {
        return 1;
    }

    @Override
    public int cpus() {
        return 1;
    }

    @Override
    public List<String> missing() {
        Stream<String> wrk = Host.has(WRK)
                ? Stream.empty()
                : Stream.of("Without wrk there are no figures of forwarding, refusal and memory: apt-get install wrk.");
        return Stream.concat(
                        extent(true).peers().stream()
                                .filter(peer -> !peer.installed())
                                .map(Peer::missing),
                        wrk)
                .toList();
    }

    /** How much of it is done. */
    Extent extent(boolean quick) {
        return Extent.of(quick);
    }

    private static Stream<Peer> present(Extent extent) {
        return extent.peers().stream().filter(Peer::installed);
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Extent extent = extent(bench.quick());
        List<Peer> present = present(extent).toList();
        bench.property("compare", present.stream().map(Peer::label).collect(Collectors.joining(",")));
        missing().forEach(bench::note);
        boolean wrk = Host.has(WRK);
        present.forEach(peer ->
                peer.version().ifPresent(version -> bench.property(peer.label() + ".version", version)));
        if (wrk) {
            bench.property("wrk.version", Host.saysFirst(WRK, "-v"));
        }
        int openFiles = bench.openFiles(Peer.OPEN_FILES);
        // A process has other files too, and its callers are not the only ones.
        int waiting = Math.min(extent.waiting(), openFiles / 2 - 500);
        if (waiting < extent.waiting()) {
            bench.note(String.format(
                    Locale.ROOT,
                    "A process may have %d files open here, so %d exchanges wait, not %d (expected: ulimit -H -n %d).",
                    openFiles,
                    waiting,
                    extent.waiting(),
                    Peer.OPEN_FILES));
        }
        bench.note("The backends share the generator's cores.");
        bench.property("warm-up", extent.warmUp().toSeconds() + " s for each peer");
        if (bench.quick()) {
            bench.note(
                    "Each peer was warmed up for the same time; what runs on a JVM (weir, plain-gateway, bare) is not at its fastest after the time of a quick run.");
        }
        try (Socket gone = new Socket()) {
            // Bound, and listening to nobody: nobody else gets that port, and nobody connects to himself there.
            gone.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            ask(extent, present, gone.getLocalPort(), openFiles, wrk ? waiting : 0, bench);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Without wrk nobody waits. */
    private static void ask(Extent extent, List<Peer> present, int gone, int openFiles, int waiting, Bench bench)
            throws InterruptedException {
        Fleet fleet = new Fleet(bench);
        int served = served(bench);
        for (Peer peer : present) {
            Fleet.Server sick = sick(bench);
            Places places = places(served, gone, sick, openFiles, bench);
            Child child = start(peer, bench, places);
            if (waiting > 0) {
                speed(peer, child, places, extent, bench);
            }
            trouble(peer, places, sick, extent, bench, fleet);
            bench.stop(child);
            if (waiting > 0) {
                memory(peer, places(served, gone, sick, openFiles, bench), sick, waiting, bench);
            }
            bench.stop(sick);
        }
    }

    private static Places places(int served, int gone, Fleet.Server sick, int openFiles, Bench bench) {
        return new Places(Host.freePort(), Host.freePort(), served, gone, sick.port(), bench.cores(), openFiles);
    }

    /** The backend that answers at once: nginx where it is there, since a JVM on the load's core would be slower than some of the peers. */
    private static int served(Bench bench) throws InterruptedException {
        int port = Host.freePort();
        boolean nginx = Peer.NGINX.installed();
        Places places = new Places(port, port, port, port, port, 1, Peer.OPEN_FILES);
        List<String> command = nginx
                ? Peer.nginx(
                        Peer.filled(bench.root().resolve("perf/peers"), "served.conf", places, bench.temporary())
                                .toString(),
                        bench.temporary())
                : Peer.peers(bench, "backend", Integer.toString(port), "");
        bench.property("served-by", nginx ? "nginx" : "Reactor Netty; nginx is not installed");
        bench.launchGenerator("served", command);
        bench.await("the backend answers", () -> Fleet.answers("http://127.0.0.1:" + port + "/served/1"));
        return port;
    }

    private static Fleet.Server sick(Bench bench) throws InterruptedException {
        int port = Host.freePort();
        int control = Host.freePort();
        Child child = bench.launchGenerator(
                SICK,
                Host.withOpenFiles(
                        Peer.OPEN_FILES, Peer.peers(bench, SICK, Integer.toString(port), Integer.toString(control))));
        bench.await("the backend in trouble answers", () -> Fleet.answers("http://127.0.0.1:" + port + "/health"));
        return new Fleet.Server(child, port, control);
    }

    /** Started, and answering for both backends. */
    private static Child start(Peer peer, Bench bench, Places places) throws InterruptedException {
        bench.doing(peer.label() + " starts");
        Child child = bench.launch(peer.label(), peer.command(bench, places), Map.of());
        bench.await(
                peer.label() + " answers",
                () -> Fleet.answers(places.uri("/served/1")) && Fleet.answers(places.uri("/sick/work")));
        return child;
    }

    private static void speed(Peer peer, Child child, Places places, Extent extent, Bench bench)
            throws InterruptedException {
        bench.doing(peer.label() + " warms up");
        warmUp(extent.warmUp(), places.uri("/served/1"), bench);
        warmUp(extent.warmUp().dividedBy(2), places.uri("/gone/1"), bench);
        bench.step(peer.label() + ": forwarding");
        speed(peer.label() + ".forward", child, places.uri("/served/1"), extent, bench, 0);
        bench.step(peer.label() + ": refusal");
        speed(peer.label() + ".refuse", child, places.uri("/gone/1"), extent, bench, 1);
        bench.endStep();
    }

    private static void warmUp(Duration time, String uri, Bench bench) throws InterruptedException {
        try {
            bench.wrk(CONNECTIONS, time, uri);
        } catch (IllegalStateException e) {
            // Some get no answer while it is cold; those that are counted are looked at.
        }
    }

    /** The median of the rounds, if all was answered as it should be. */
    private static void speed(String fact, Child child, String uri, Extent extent, Bench bench, int refused)
            throws InterruptedException {
        List<Double> rates = new ArrayList<>();
        Duration before = bench.used(child);
        double seconds = 0;
        long requests = 0;
        for (int i = 0; i < extent.rounds(); i++) {
            try {
                Wrk.Result result = bench.wrk(CONNECTIONS, extent.each(), uri);
                if (result.refused() != refused * result.requests()) {
                    bench.note(fact + ": " + result.refused() + " of " + result.requests() + " answers were no 2xx"
                            + " (expected: " + (refused == 0 ? "none" : "all") + ").");
                }
                rates.add(result.perSecond());
                requests += result.requests();
                // Without wrk's own start and end, in which nobody asks.
                seconds += result.requests() / result.perSecond();
            } catch (IllegalStateException e) {
                bench.note(fact + ": no figure, since some requests got no answer.");
                return;
            }
        }
        Duration used = bench.used(child).minus(before);
        double busy = busyPercent(used, seconds, bench.cores());
        // Of a peer that had time left the load was measured: it is held against nothing.
        bench.fact(fact + (busy < BUSY_PERCENT ? ".rate.at-least" : ".rate"), Recovery.median(rates), "1/s");
        bench.fact(fact + ".busy", busy, "% of its cores");
        bench.fact(fact + ".cpu", used.toNanos() / 1000.0 / requests, "µs each");
    }

    /** Of so many cores, in the time in which it was asked. */
    static double busyPercent(Duration used, double seconds, int cores) {
        return 100 * used.toNanos() / 1e9 / seconds / cores;
    }

    private static void trouble(Peer peer, Places places, Fleet.Server sick, Extent extent, Bench bench, Fleet fleet)
            throws InterruptedException {
        Timeline timeline = new Timeline()
                .then(Timeline.WARM_UP, extent.gatlingWarmUp())
                .then(Timeline.CALM, extent.calm())
                .then(HANG, extent.fault())
                .then(Timeline.AFTER + HANG, extent.after())
                .then(Timeline.CALM, extent.calm())
                .then(Timeline.OVERLOAD, extent.fault())
                .then(Timeline.AFTER + Timeline.OVERLOAD, extent.after());
        Map<String, String> plan = new HashMap<>(extent.asserted());
        plan.put("url", places.uri(""));
        plan.put("sick.path", "/sick/work");
        plan.put("sick.rate", Integer.toString(extent.sickRate()));
        plan.put("overload.rate", Integer.toString(extent.overloadRate()));
        plan.put("neighbour.path", "/served/1");
        plan.put("neighbour.rate", Integer.toString(extent.neighbourRate()));
        plan.put("patience", Long.toString(PATIENCE.toMillis()));
        plan.put("phases", timeline.plan());
        Gatling gatling =
                bench.load(new Gatling.Load("DoesAFailureStayContained", peer.label(), plan, peer == Peer.WEIR));
        timeline.follow(bench, gatling.awaitBegin(), (phase, name, at) -> {
            if (name.equals(Timeline.CALM)) {
                bench.stepAt(at, peer.label() + ": " + timeline.name(phase + 1), "");
            } else if (name.equals(HANG)) {
                fleet.breaks(sick, "{\"kind\": \"hang\"}");
            } else if (name.startsWith(Timeline.AFTER)) {
                if (name.endsWith(HANG)) {
                    fleet.heal(sick);
                }
                bench.span(timeline.name(phase - 1), timeline.begin(phase - 1), at);
            }
        });
        Gatling.Result result = gatling.awaitEnd();
        figures(peer, timeline, result.requests(), bench);
    }

    private static void figures(Peer peer, Timeline timeline, List<Request> requests, Bench bench) {
        List<Request> neighbours = timeline.in(2, NEIGHBOUR, requests);
        List<Request> hang = timeline.in(2, SICK, requests);
        String prefix = peer.label() + ".hang.";
        bench.fact(prefix + "neighbour.success", Request.percent(neighbours, Request::succeeded), "%");
        bench.fact(prefix + "neighbour.p99.before", Request.percentile(timeline.in(1, NEIGHBOUR, requests), 99), "ms");
        bench.fact(prefix + "neighbour.p99", Request.percentile(neighbours, 99), "ms");
        bench.fact(prefix + "sick.p50", Request.percentile(hang, 50), "ms");
        bench.fact(prefix + "sick.p99", Request.percentile(hang, 99), "ms");
        bench.fact(prefix + "healed", Request.percent(timeline.in(3, SICK, requests), Request::succeeded), "%");

        List<Request> overload = timeline.in(5, SICK, requests);
        double seconds = (timeline.begin(6) - timeline.begin(5)) / 1000.0;
        bench.fact(
                peer.label() + ".overload.goodput",
                100
                        * overload.stream()
                                .filter(one -> one.succeeded() && one.micros() <= 1_000_000)
                                .count()
                        / (CAPACITY * seconds),
                "% of what it can do");
        bench.fact(
                peer.label() + ".overload.neighbour.success",
                Request.percent(timeline.in(5, NEIGHBOUR, requests), Request::succeeded),
                "%");
        bench.fact(
                peer.label() + ".overload.after.success",
                Request.percent(timeline.in(6, SICK, requests), Request::succeeded),
                "%");
    }

    private static void memory(Peer peer, Places places, Fleet.Server sick, int waiting, Bench bench)
            throws InterruptedException {
        Child child = start(peer, bench, places);
        // What is loaded with the first requests is not what waiting takes.
        warmUp(Duration.ofSeconds(1), places.uri("/served/1"), bench);
        bench.step(peer.label() + ": memory");
        Map<String, Long> before = bench.memory(child);
        String uri = places.uri("/held/1");
        List<Child> callers = new ArrayList<>();
        long until = bench.now() + WAIT.toMillis();
        // Not all at once: that would be an overload, which some protect themselves against.
        for (int portion = 1; portion <= PORTIONS; portion++) {
            callers.add(bench.launchCaller(
                    "wrk-waiting-" + portion,
                    Host.withOpenFiles(
                            Peer.OPEN_FILES,
                            List.of("wrk", "-t1", "-c" + waiting / PORTIONS, "-d600s", "--timeout", "600s", uri))));
            while (held(sick) < waiting / PORTIONS * portion && bench.now() < until) {
                bench.sleepUntil(bench.now() + 100);
            }
        }
        int held = held(sick);
        if (held >= waiting / PORTIONS * PORTIONS) {
            Map<String, Long> with = bench.memory(child);
            for (String what : List.of("rss", "pss")) {
                bench.fact(peer.label() + ".memory." + what + ".before", before.getOrDefault(what, 0L) / 1e6, "MB");
                bench.fact(peer.label() + ".memory." + what + ".waiting", with.getOrDefault(what, 0L) / 1e6, "MB");
            }
            bench.fact(
                    peer.label() + ".memory.each",
                    (with.getOrDefault("pss", 0L) - before.getOrDefault("pss", 0L)) / 1e3 / held,
                    "kB");
        } else {
            bench.note(
                    peer.label() + ".memory: no figure, " + held + " of " + waiting + " exchanges waited in the end.");
        }
        bench.endStep();
        bench.stop(callers.toArray(Child[]::new));
        bench.stop(child);
    }

    private static int held(Fleet.Server sick) {
        return Fleet.text(sick.management() + "/held").map(Integer::parseInt).orElse(0);
    }
}
