package io.weir.perf.bench;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.MeasuredTables;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RateRounds;
import io.weir.perf.run.RunFailure;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import io.weir.perf.run.Wrk;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** {@code perf/bench}: {@code JAR CONFIGURATION PEERS [--rounds N] [--seconds N] [--warm-up N]}. */
public record SpeedBenchmark(Processes processes, List<MeasuredServer> subjects) {

    private static final int MEASURED_CORE = 0;
    private static final int LOAD_CORE = 1;

    private static final int MAX_WARM_UPS = 8;

    record MeasuredServer(String name, RateRounds rounds) {

        void check(Wrk result) {
            if (!rounds.isExpected(result)) {
                throw new RunFailure(name + ": " + result + " (expected: " + rounds.expected() + ")");
            }
        }

        String rates(Duration time) {
            List<Double> all = rounds.rates();
            return "%.0f/s (%.0f to %.0f in rounds of %d s), %.0f %% of its core"
                    .formatted(
                            Requests.median(all),
                            Collections.min(all),
                            Collections.max(all),
                            time.toSeconds(),
                            rounds.busyPercent(1));
        }
    }

    /** The exit code is 0 if all ratios hold, 1 if not, 2 without a measurement. */
    public static void main(String[] args) throws Exception {
        System.exit(run(args));
    }

    static int run(String... args) throws Exception {
        Map<String, Integer> options = new TreeMap<>(Map.of("--rounds", 8, "--seconds", 5, "--warm-up", 15));
        for (int i = 3; i < args.length; i += 2) {
            options.put(args[i], Integer.parseInt(args[i + 1]));
        }
        if (Runtime.getRuntime().availableProcessors() < 2) {
            System.err.println("bench: one core (expected: two, one for the measured server and one for the load)");
            return 2;
        }
        try (Processes processes = Processes.unlimited();
                TokenIssuer issuer = TokenIssuer.start()) {
            SpeedBenchmark benchmark = new SpeedBenchmark(processes, new ArrayList<>());
            benchmark.start(args[0], args[1], args[2], issuer);
            return benchmark.measure(
                    options.getOrDefault("--rounds", 0),
                    Duration.ofSeconds(options.getOrDefault("--seconds", 0)),
                    Duration.ofSeconds(options.getOrDefault("--warm-up", 0)),
                    args.length == 3);
        } catch (RunFailure | Wrk.UnansweredException e) {
            System.err.println("bench: " + e.getMessage());
            return 2;
        }
    }

    private void start(String jar, String configuration, String peers, TokenIssuer issuer) throws Exception {
        int backendPort = Host.freePort();
        String backend = "http://127.0.0.1:" + backendPort;
        int barePort = Host.freePort();
        int plainPort = Host.freePort();
        startPeer(LOAD_CORE, peers, backendPort, "backend", "" + backendPort);
        ManagedProcess bare =
                startPeer(MEASURED_CORE, peers, barePort, "bare", "" + barePort, backend, backend, backend);
        ManagedProcess plain = startPeer(
                MEASURED_CORE,
                peers,
                plainPort,
                "plain",
                "--spring.config.location=classpath:plain.yml",
                "--server.port=" + plainPort,
                "--backend=" + backend);
        RunningServer weir = TestServers.gateway(
                processes,
                java(MEASURED_CORE),
                jar,
                Map.of("BACKEND_PORT", backendPort, "KEYS_PORT", issuer.port()),
                List.of(configuration));
        TestServers.awaitReadiness(processes, weir);
        weir.operate("refused", "{\"breaker\": \"open\"}");
        weir.operate("refused-fixed", "{\"breaker\": \"open\"}");
        ManagedProcess gateway = weir.process().orElseThrow();
        add("bare Reactor Netty proxy", bare, "http://127.0.0.1:" + barePort + "/1", false);
        add("Weir, compiled route", gateway, weir.url() + "/compiled/1", false);
        add("Weir, compiled route, refused", gateway, weir.url() + "/refused/1", true);
        add("Spring Cloud Gateway with CircuitBreaker", plain, "http://127.0.0.1:" + plainPort + "/1", false);
        add("Weir, general route", gateway, weir.url() + "/general/1", false);
        add("Weir, compiled route with a rate limit", gateway, weir.url() + "/limited/1", false);
        String token = "Authorization: Bearer " + issuer.token();
        add("Weir, compiled route with a token", gateway, weir.url() + "/authenticated/1", false, token);
        add("Weir, compiled route with a fixed limit", gateway, weir.url() + "/fixed/1", false);
        add("Weir, compiled route with a fixed limit, refused", gateway, weir.url() + "/refused-fixed/1", true);
    }

    private void add(String name, ManagedProcess server, String uri, boolean refuses, String... fields) {
        List<String> pinned = List.of("taskset", "-c", Integer.toString(LOAD_CORE));
        subjects.add(new MeasuredServer(name, new RateRounds(processes, pinned, server, uri, refuses, fields)));
    }

    /** All servers have the same heap and options. */
    private static List<String> java(int core) {
        String options = " -Xms512m -Xmx512m --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow";
        return List.of(("taskset -c " + core + ' ' + Host.java() + options).split(" ", -1));
    }

    /** {@code arguments} are those of {@link io.weir.perf.PeerMain}. */
    private ManagedProcess startPeer(int core, String peers, int port, String... arguments)
            throws InterruptedException {
        List<String> command = new ArrayList<>(java(core));
        command.addAll(List.of("-cp", peers, "org.springframework.boot.loader.launch.JarLauncher"));
        command.addAll(List.of(arguments));
        ManagedProcess peer = processes.start(arguments[0], command, Map.of());
        processes.await(arguments[0] + " answers", () -> HttpControl.answers("http://127.0.0.1:" + port + "/1"));
        return peer;
    }

    private int measure(int rounds, Duration time, Duration warmUp, boolean whole) throws InterruptedException {
        for (MeasuredServer subject : subjects) {
            System.out.println("warming up: " + subject.name());
            warmUp(subject, warmUp);
        }
        for (int i = 0; i < rounds; i++) {
            System.out.printf("round %d of %d:", i + 1, rounds);
            for (MeasuredServer subject : subjects) {
                System.out.printf(" %.0f", measure(subject, time));
            }
            System.out.println();
        }
        PromiseTable ratios = new PromiseTable();
        addRatio(ratios, subjects.get(1), subjects.get(0), 0.75);
        addRatio(ratios, subjects.get(2), subjects.get(0), 2);
        addRatio(ratios, subjects.get(4), subjects.get(3), 1.3);
        addRatio(ratios, subjects.get(5), subjects.get(1), 0.9);
        addRatio(ratios, subjects.get(6), subjects.get(1), 0.9);
        addRatio(ratios, subjects.get(1), subjects.get(7), 0.95);
        addRatio(ratios, subjects.get(2), subjects.get(8), 0.95);
        subjects.forEach(subject -> ratios.show(subject.name(), subject.rates(time)));
        System.out.print(ratios);
        if (whole) {
            MeasuredTables.keep("bench", "perf/bench", ratios);
        }
        for (MeasuredServer peer : List.of(subjects.get(0), subjects.get(3))) {
            if (peer.rounds().busyPercent(1) < RateRounds.BUSY_PERCENT) {
                System.err.printf("%s: the load was the limit, not its core%n", peer.name());
                return 2;
            }
        }
        return ratios.allHold() ? 0 : 1;
    }

    /**
     * Repeats the load until all answers are as expected: a breaker stays open after the slow calls of a cold
     * JVM.
     */
    private static void warmUp(MeasuredServer subject, Duration time) throws InterruptedException {
        Wrk result = subject.rounds().warmUp(time);
        for (int i = 1; i < MAX_WARM_UPS && !subject.rounds().isExpected(result); i++) {
            result = subject.rounds().warmUp(time);
        }
        subject.check(result);
    }

    private static double measure(MeasuredServer subject, Duration time) throws InterruptedException {
        Wrk result = subject.rounds().measure(time);
        subject.check(result);
        return result.perSecond();
    }

    private static void addRatio(PromiseTable ratios, MeasuredServer subject, MeasuredServer peer, double promised) {
        String text = subject.name() + " / " + peer.name();
        ratios.atLeast(text, promised, subject.rounds().ratio(peer.rounds()), "times");
    }
}
