package io.weir.perf.scenario;

import io.weir.perf.result.OutcomeKind;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.Processes;
import io.weir.perf.scenario.FaultyInstance.Fault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * Backends with two or three instances, of which some or all have a fault, or are restarted one after the
 * other. In a full run, Envoy and HAProxy get the same traffic and faults.
 *
 * <p>Where one instance hangs, the choice by latency alone keeps nearly all callers from it; without
 * ejection, the calls that wait in it are lost. Most other cases lose a large share of the callers without
 * ejection. Those of a slow instance, and of some failures of all, show what ejection must not do.
 *
 * <p>The cases with little traffic last for minutes, beside the others: the choice sends a late instance so
 * few calls that its ejection takes that long. A quick run has some cases, all at once.
 */
record InstancesScenario(Scenario.Options options) {

    private static final int RATE = 300;
    private static final long DEADLINE_MICROS = 800_000;
    /** Calls that were sent so long before the fault may still be under way. */
    private static final int UNDER_WAY_MILLIS = 50;

    private static final long SECOND_MILLIS = 1000;
    private static final int MOST_FAILED = 6;

    /** The failures in a row after which the gateway ejects an instance of two. */
    private static final int FAILURES_OF_EJECTION = 5;

    private interface Check {
        void of(Case tested, Measured measured, PromiseTable promises);
    }

    /** A fault of {@code faulty} of the {@code count} instances of a backend. */
    private record Case(
            String name, String text, int count, int faulty, Fault fault, int perSecond, int seconds, Check check) {

        boolean isCompared() {
            return count == 3 && fault != Fault.FAILS_SOMETIMES;
        }
    }

    /**
     * {@code latestMicros} is the longest time that counts as in time, and {@code faultyPercent} the share of
     * the calls during the fault that faulty instances got.
     */
    private record Measured(Episode episode, long latestMicros, double faultyPercent, long ejections, long openings) {

        Requests before() {
            return episode.before();
        }

        Requests during() {
            return episode.during();
        }

        double inTimePercent() {
            return during().percent(this::isInTime);
        }

        long countNotInTime() {
            return during().count(one -> !isInTime(one));
        }

        private boolean isInTime(Request request) {
            return InstancesScenario.isInTime(request, latestMicros);
        }

        String figures() {
            return String.format(
                    Locale.ROOT,
                    "%.2f %% in time, p99 %.0f ms (calm %.0f), after it %.2f %%; %s",
                    inTimePercent(),
                    during().percentile(99),
                    before().percentile(99),
                    episode.after().successPercent(),
                    during().where(one -> !isInTime(one)).countByOutcome());
        }
    }

    PromiseTable run() throws Exception {
        List<Case> cases = options.quick() ? quickCases() : cases();
        Map<String, List<FaultyInstance>> instances = new LinkedHashMap<>();
        try (Processes processes = Processes.unlimited();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            cases.forEach(one -> instances.put(one.name(), start(one.count())));
            List<FaultyInstance> shared = start(3);
            instances.put("shared", shared);
            Map<String, List<Integer>> ports = new LinkedHashMap<>();
            instances.forEach((name, all) -> ports.put(name, ports(all)));
            InstanceFront gateway = InstanceFront.start(options, processes, ports);
            Map<String, OpenLoad> peers = startPeers(processes, ports(shared));
            // The first calls of a cold JVM are slow, and a route's usual time decides when a call stalls.
            Requests unused = gateway.load("shared").run(options.quick() ? 100 : RATE, options.seconds(4, 10));
            List<Future<PromiseTable>> results = new ArrayList<>();
            for (Case one : cases) {
                List<FaultyInstance> own = Objects.requireNonNull(instances.get(one.name()));
                results.add(threads.submit(() -> compare(one, gateway, own, peers, shared)));
                if (!options.quick() && one.perSecond() == RATE) {
                    results.getLast().get();
                }
            }
            PromiseTable promises = new PromiseTable();
            for (Future<PromiseTable> result : results) {
                promises.addAll(result.get());
            }
            if (!options.quick()) {
                rollingRestart("drained", promises);
                rollingRestart("killed", promises);
            }
            return promises;
        } finally {
            instances.values().forEach(all -> all.forEach(FaultyInstance::close));
        }
    }

    private static List<FaultyInstance> start(int count) {
        return Stream.generate(FaultyInstance::new).limit(count).toList();
    }

    private static List<Integer> ports(List<FaultyInstance> instances) {
        return instances.stream().map(FaultyInstance::port).toList();
    }

    private Map<String, OpenLoad> startPeers(Processes processes, List<Integer> ports) throws Exception {
        Map<String, OpenLoad> peers = new LinkedHashMap<>();
        Map<String, ?> values =
                Map.of("INSTANCE_1", ports.get(0), "INSTANCE_2", ports.get(1), "INSTANCE_3", ports.get(2));
        if (options.compares(PeerProxy.ENVOY)) {
            int port = options.startPeer(processes, PeerProxy.ENVOY, "envoy-instances.yaml", values);
            peers.put("Envoy", Scenario.load(port, "/mvc/1"));
        }
        if (options.compares(PeerProxy.HAPROXY)) {
            int port = options.startPeer(processes, PeerProxy.HAPROXY, "haproxy-instances.cfg", values);
            peers.put("HAProxy", Scenario.load(port, "/mvc/1"));
        }
        return peers;
    }

    // ---------------------------------------------------------------- cases

    private List<Case> cases() {
        List<Case> cases = new ArrayList<>();
        for (int rate : List.of(2, 20, RATE)) {
            int seconds = rate == RATE ? 15 : 300;
            cases.add(pair("pair-hangs-" + rate, "one of two hangs, " + rate + "/s", Fault.HANGS, rate, seconds));
            cases.add(pair("pair-fails-" + rate, "one of two answers 500, " + rate + "/s", Fault.FAILS, rate, seconds));
        }
        cases.addAll(List.of(
                new Case("some", "three answer 30 % with 500", 3, 3, Fault.FAILS_SOMETIMES, RATE, 60, this::alike),
                new Case("hangs", "one of three hangs", 3, 1, Fault.HANGS, RATE, 15, this::served),
                new Case("fails", "one of three answers 500", 3, 1, Fault.FAILS, RATE, 15, this::served),
                new Case("refuses", "one refuses connections", 3, 1, Fault.REFUSES, RATE, 15, this::served),
                new Case("resets", "one resets connections", 3, 1, Fault.RESETS, RATE, 15, this::served),
                new Case("slow", "one is ten times slower", 3, 1, Fault.SLOW, RATE, 15, this::slow),
                new Case("two-hang", "two of three hang", 3, 2, Fault.HANGS, RATE, 15, this::served),
                new Case("all-hang", "all three hang", 3, 3, Fault.HANGS, RATE, 15, this::refused)));
        return cases;
    }

    /** Without a single instance that hangs: in this time it gets too few calls to be ejected. */
    private List<Case> quickCases() {
        return List.of(
                new Case("fails", "one of three answers 500", 3, 1, Fault.FAILS, 50, 5, this::served),
                new Case("refuses", "one refuses connections", 3, 1, Fault.REFUSES, 50, 5, this::served),
                new Case("all-hang", "all three hang", 3, 3, Fault.HANGS, 50, 5, this::refused),
                pair("pair-fails", "one of two answers 500, 20/s", Fault.FAILS, 20, 5));
    }

    private Case pair(String name, String text, Fault fault, int perSecond, int seconds) {
        return new Case(name, text, 2, 1, fault, perSecond, seconds, this::ejected);
    }

    private PromiseTable compare(
            Case tested,
            InstanceFront gateway,
            List<FaultyInstance> own,
            Map<String, OpenLoad> peers,
            List<FaultyInstance> shared)
            throws InterruptedException {
        PromiseTable table = new PromiseTable();
        PromiseTable promises = table.of(tested.text() + ": ");
        begin(tested, "Weir");
        Measured measured = play(tested, gateway.load(tested.name()), own, gateway);
        tested.check().of(tested, measured, promises);
        show(tested.name(), "Weir", measured, promises);
        if (tested.isCompared()) {
            for (Map.Entry<String, OpenLoad> peer : peers.entrySet()) {
                begin(tested, peer.getKey());
                show(tested.name(), peer.getKey(), play(tested, peer.getValue(), shared, gateway), promises);
            }
        }
        return table;
    }

    /** Begins a step; cases that are not alone have none of their own. */
    private void begin(Case tested, String front) {
        if (!options.quick() && tested.perSecond() == RATE) {
            options.begin(front.toLowerCase(Locale.ROOT) + ": " + tested.text());
        } else {
            System.out.println(tested.text());
        }
    }

    private static void show(String name, String front, Measured measured, PromiseTable promises) {
        promises.show(front, measured.figures());
        promises.fact(front.toLowerCase(Locale.ROOT) + '.' + name + ".in-time", measured.inTimePercent(), "%");
    }

    private Measured play(Case tested, OpenLoad load, List<FaultyInstance> instances, InstanceFront gateway)
            throws InterruptedException {
        Duration before = tested.perSecond() < 20 ? Duration.ofSeconds(20) : options.seconds(3, 5);
        Duration during = Duration.ofSeconds(tested.seconds());
        CompletableFuture<Requests> sent =
                load.send(tested.perSecond(), before.plus(during).plus(options.seconds(3, 5)));
        Thread.sleep(before);
        List<FaultyInstance> faulty = instances.subList(0, tested.faulty());
        double callsOfFaulty = calls(faulty);
        double callsOfAll = calls(instances);
        long faultAt = OpenLoad.nowMillis() - UNDER_WAY_MILLIS;
        faulty.forEach(one -> one.set(tested.fault()));
        Thread.sleep(during);
        double faultyPercent = 100.0 * (calls(faulty) - callsOfFaulty) / Math.max(1.0, calls(instances) - callsOfAll);
        long healAt = OpenLoad.nowMillis();
        faulty.forEach(one -> one.set(Fault.NONE));
        Episode episode = new Episode(sent.join(), faultAt, healAt);
        String name = tested.name();
        return new Measured(episode, latestMicros(), faultyPercent, gateway.ejections(name), gateway.openings(name));
    }

    /**
     * In a quick run, whose machine is busy with other scenarios, an answer may reach its caller late: the
     * gateway itself ends what the backend does not answer in time.
     */
    private long latestMicros() {
        return options.quick() ? Long.MAX_VALUE : DEADLINE_MICROS;
    }

    private static double calls(List<FaultyInstance> instances) {
        return instances.stream().mapToDouble(FaultyInstance::calls).sum();
    }

    private static boolean isInTime(Request request, long latestMicros) {
        return request.succeeded() && request.micros() <= latestMicros;
    }

    // ---------------------------------------------------------------- promises

    /** The other instances serve the callers. */
    private void served(Case tested, Measured measured, PromiseTable promises) {
        double promised = tested.fault() == Fault.REFUSES || tested.fault() == Fault.RESETS ? 100 : 99.5;
        promises.atLeast("answered in time", options.quick() ? 95 : promised, measured.inTimePercent(), "%");
        promiseEjections(measured, tested.faulty(), promises);
        if (!options.quick()) {
            Episode episode = measured.episode();
            double refused = episode.all().count(one -> OutcomeKind.of(one.outcome()) == OutcomeKind.SHED);
            promises.atMost("refused", 0, refused, "");
            promises.atLeast("answered after it", 99.5, episode.after().successPercent(), "%");
        }
    }

    /** The balancing may send a failing instance too few calls for an ejection. */
    private static void promiseFewFailuresOrEjection(Measured measured, PromiseTable promises) {
        boolean few = measured.countNotInTime() < FAILURES_OF_EJECTION;
        promiseEjections(measured, few ? measured.ejections() : 1, promises);
    }

    private static void promiseEjections(Measured measured, long ejections, PromiseTable promises) {
        String counted = measured.ejections() + ", " + measured.openings();
        boolean holds = measured.ejections() == ejections && measured.openings() == 0;
        promises.add("ejections, openings of the backend", ejections + ", 0", counted, holds);
    }

    /** The other instances get the traffic of a slow one, which is not ejected. */
    private void slow(Case tested, Measured measured, PromiseTable promises) {
        double growth = measured.during().percentile(99) / measured.before().percentile(99);
        promises.atMost("p99, multiples of the calm's", 2, growth, "");
        promises.atMost("its share of the calls", 10, measured.faultyPercent(), "%");
        promiseEjections(measured, 0, promises);
    }

    /** The backend opens, and is back soon. */
    private void refused(Case tested, Measured measured, PromiseTable promises) {
        Episode episode = measured.episode();
        // A busy machine needs more time to open.
        long openAt = episode.faultAt() + (options.quick() ? 2 : 1) * SECOND_MILLIS;
        Requests late = episode.all().sentBetween(openAt, episode.healAt());
        long most = options.quick() ? Long.MAX_VALUE : 50_000;
        long atOnce = late.count(one -> one.outcome().equals("circuit-open") && one.micros() < most);
        promises.all("refused at once", atOnce, late.size());
        Requests back = episode.all().sentBetween(episode.healAt() + SECOND_MILLIS, Long.MAX_VALUE);
        double least = options.quick() ? 95 : 99.5;
        promises.atLeast("answered, from a second after the heal on", least, back.successPercent(), "%");
    }

    /** One of two instances is ejected after few failed calls. */
    private void ejected(Case tested, Measured measured, PromiseTable promises) {
        promises.atMost("callers without an answer in time", MOST_FAILED, (double) measured.countNotInTime(), "");
        promiseFewFailuresOrEjection(measured, promises);
    }

    /** All instances fail alike, and too seldom for a breaker. */
    private void alike(Case tested, Measured measured, PromiseTable promises) {
        promiseEjections(measured, 0, promises);
        promises.atLeast("answered", 60, measured.during().successPercent(), "%");
    }

    // ---------------------------------------------------------------- rolling restart

    /** Restarts each of three JVMs, which share one core, under load. */
    private void rollingRestart(String way, PromiseTable table) throws Exception {
        PromiseTable promises = table.of("rolling restart, " + way + ": ");
        try (Processes processes = Processes.unlimited()) {
            Map<Integer, ManagedProcess> instances = new LinkedHashMap<>();
            for (int i = 0; i < 3; i++) {
                int port = Host.freePort();
                instances.put(port, startInstance(processes, port));
            }
            List<Integer> ports = List.copyOf(instances.keySet());
            InstanceFront gateway = InstanceFront.start(options, processes, Map.of(way, ports));
            rollingRestart(way, "Weir", gateway.load(way), instances, processes, promises);
            for (Map.Entry<String, OpenLoad> peer : startPeers(processes, ports).entrySet()) {
                rollingRestart(way, peer.getKey(), peer.getValue(), instances, processes, promises);
            }
        }
    }

    private void rollingRestart(
            String way,
            String front,
            OpenLoad load,
            Map<Integer, ManagedProcess> instances,
            Processes processes,
            PromiseTable promises)
            throws InterruptedException {
        options.begin(front.toLowerCase(Locale.ROOT) + ": rolling restart, " + way);
        load.run(RATE, Duration.ofSeconds(15));
        double calm = load.run(RATE, Duration.ofSeconds(8)).percentile(99);
        List<Requests> sent = new ArrayList<>();
        List<Double> returns = new ArrayList<>();
        for (Map.Entry<Integer, ManagedProcess> instance : instances.entrySet()) {
            CompletableFuture<Requests> requests = load.send(RATE, Duration.ofSeconds(18));
            Thread.sleep(SECOND_MILLIS);
            stop(processes, instance.getValue(), way);
            instance.setValue(startInstance(processes, instance.getKey()));
            long back = OpenLoad.nowMillis();
            Requests all = requests.join();
            sent.add(all);
            returns.add(all.sentBetween(back, back + 10 * SECOND_MILLIS).percentile(99));
        }
        Requests all = Requests.of(sent);
        double inTime = all.percent(one -> isInTime(one, DEADLINE_MICROS));
        if (front.equals("Weir")) {
            promises.atLeast("answered in time", 100, inTime, "%");
            promises.atMost("p99 after a return, multiples of the calm's", 3, Collections.max(returns) / calm, "");
        }
        promises.fact(front.toLowerCase(Locale.ROOT) + '.' + way + ".in-time", inTime, "%");
        List<Long> rounded = returns.stream().map(Math::round).toList();
        Map<String, Long> others =
                all.where(one -> !isInTime(one, DEADLINE_MICROS)).countByOutcome();
        promises.show(
                front,
                String.format(
                        Locale.ROOT,
                        "%.2f %% in time, p99 calm %.0f ms, after the returns %s ms; %s",
                        inTime,
                        calm,
                        rounded,
                        others));
    }

    private ManagedProcess startInstance(Processes processes, int port) throws InterruptedException {
        List<String> command = new ArrayList<>(Host.has("taskset") ? List.of("taskset", "-c", "0") : List.of());
        command.addAll(List.of(
                Host.java(),
                "-Xmx64m",
                "-Dloader.main=" + FaultyInstance.class.getName(),
                "-cp",
                options.file("perf/target/weir-perf.jar").toString(),
                "org.springframework.boot.loader.launch.PropertiesLauncher",
                Integer.toString(port)));
        ManagedProcess process = processes.start("instance-" + port, command, Map.of());
        processes.await("an instance answers", () -> HttpControl.answers("http://127.0.0.1:" + port + "/health"));
        return process;
    }

    private static void stop(Processes processes, ManagedProcess process, String way) {
        if (way.equals("killed")) {
            process.mayEnd();
            ProcessHandle.of(process.pid()).ifPresent(ProcessHandle::destroyForcibly);
        }
        processes.stop(process);
    }
}
