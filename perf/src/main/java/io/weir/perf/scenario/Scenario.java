package io.weir.perf.scenario;

import static java.util.Map.entry;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.RunResult;
import io.weir.perf.run.Host;
import io.weir.perf.run.MeasuredTables;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** {@code perf/scenario}: {@code NAME JAR CONFIGURATION [--quick] [--without PROTECTION]...}. */
public final class Scenario {

    /** The protection that an operator disables: all instances are forced closed. */
    static final String EJECTION = "ejection";

    /** The protections of the scenarios of the same names: the gateway gets no classes, or no tenants. */
    static final String PRIORITIES = "priorities";

    static final String TENANTS = "tenants";

    /** The step of an experiment that is compared with nothing. */
    static final String WARM_UP = RunResult.WARM_UP;

    /** The properties that disable a protection; {@code *} is the name of a backend. */
    private static final Map<String, List<String>> PROTECTIONS = new TreeMap<>(Map.ofEntries(
            entry("circuit-breaker", List.of("backends.*.circuit-breaker.enforce=false")),
            entry("bulkhead", List.of("backends.*.bulkhead.enforce=false")),
            entry("deadline", List.of("backends.*.deadline-enforce=false")),
            entry("adaptive-limit", List.of("backends.*.bulkhead.max-concurrent-calls=1000")),
            // The limit stays at its initial value.
            entry("limit-growth", List.of("backends.*.bulkhead.max-concurrent-calls=8")),
            // Probes come too late.
            entry("probes", List.of("backends.*.recovery.probe-interval=1m")),
            // Slow calls count as failures, and the last few calls decide.
            entry(
                    "slow-call-tolerance",
                    List.of(
                            "backends.*.circuit-breaker.slow-call-duration-threshold=500ms",
                            "backends.*.circuit-breaker.slow-call-rate-threshold=20",
                            "backends.*.circuit-breaker.sliding-window-size=10",
                            "backends.*.circuit-breaker.minimum-number-of-calls=5")),
            // Slow callers take permits, and have no compartment of their own.
            entry("slow-caller-compartment", List.of("edge.read-ahead=0B", "backends.*.max-streams=1")),
            // Slow callers stay.
            entry(
                    "caller-timeouts",
                    List.of(
                            "edge.head-timeout=5m",
                            "edge.body-idle-timeout=10m",
                            "edge.read-idle-timeout=10m",
                            "edge.min-body-rate=0B",
                            "edge.keep-alive-timeout=1h")),
            entry("client-limits", List.of("edge.max-connections-per-client=10000000")),
            entry("rate-limit", List.of("routes.limited.rate-limit.enforce=false")),
            // A connection may send that many frames a second that have no use.
            entry("frame-budget", List.of("edge.max-concurrent-streams=10000")),
            // The gateway believes every caller.
            entry("forwarded-header-check", List.of("edge.trusted-proxies=127.0.0.1")),
            entry("memory-guard", List.of("overload.max-memory=100")),
            // The threshold is below the live set.
            entry("memory-headroom", List.of("overload.max-memory=40")),
            // One pool for all backends, as in a plain proxy.
            entry(
                    "compartments",
                    List.of(
                            "backends.*.bulkhead.enforce=false",
                            "backends.*.circuit-breaker.enforce=false",
                            "backends.*.deadline-enforce=false",
                            "backends.*.guaranteed-share=0",
                            "overload.max-in-flight=50")),
            // The gateway sheds at the hard limit only, and then everything.
            entry("early-shedding", List.of("overload.target-event-loop-delay=250ms")),
            entry(EJECTION, List.of()),
            entry(PRIORITIES, List.of()),
            entry(TENANTS, List.of()),
            // One instance after the other, a slow one as often as a fast one.
            entry("least-latency", List.of("backends.*.load-balancing.policy=round-robin")),
            entry("slow-start", List.of("backends.*.load-balancing.slow-start=0s"))));

    private interface RunnableScenario {
        PromiseTable run(Options options) throws Exception;
    }

    /** All scenarios. A new one is a class, a line here, and its name in the launcher. */
    private static final Map<String, RunnableScenario> SCENARIOS = new TreeMap<>(Map.ofEntries(
            entry("hang", options -> new HangScenario(options).run()),
            entry("instances", options -> new InstancesScenario(options).run()),
            entry("overload", options -> new OverloadScenario(options).run()),
            entry("faults", options -> new FaultsScenario(options).run()),
            entry("limit", options -> new LimitScenario(options).run()),
            entry("refusals", options -> new RefusalsScenario(options).run()),
            entry("callers", options -> new CallersScenario(options).run()),
            entry("change", options -> new ChangeScenario(options).run()),
            entry("memory", options -> new MemoryScenario(options).run()),
            entry(PRIORITIES, options -> new PrioritiesScenario(options).run()),
            entry(TENANTS, options -> new TenantsScenario(options).run()),
            entry("own-overload", options -> new OwnOverloadScenario(options).run())));

    /**
     * In quick runs: a busy machine is no overload of the gateway, whose shedding has scenarios of its own.
     * The hard limit of an event loop's delay stays.
     */
    private static final String LATE_SHEDDING = "--weir.overload.target-event-loop-delay=250ms";

    /** Nearly as long as the deadline of a call. */
    private static final Duration MAX_STANDSTILL = Duration.ofMillis(250);

    private static final int MAX_ATTEMPTS = 3;

    /** An AOT cache beside the jar: it halves the processor time of a start. */
    static final String CACHE = "weir-gateway.aot";

    /** A JVM that lives for seconds needs less compilation. */
    static final List<String> SHORT_LIVED = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    /**
     * The options.
     *
     * @param quick shorter phases, no conditions on latencies, repeated after a standstill
     * @param steps gets the name of each part that begins
     */
    record Options(Path jar, Path configuration, boolean quick, List<String> without, Consumer<String> steps) {

        Options(Path jar, Path configuration, boolean quick, List<String> without) {
            this(jar, configuration, quick, without, System.out::println);
        }

        /** Begins a part of the scenario, which is a step of an experiment. */
        void begin(String step) {
            steps.accept(step);
        }

        /** {@link #LATE_SHEDDING} in a quick run. */
        List<String> calm() {
            return quick ? List.of(LATE_SHEDDING) : List.of();
        }

        /** The gateway's properties without the disabled protections, at a backend. */
        List<String> disable(String backend) {
            return without.stream()
                    .flatMap(protection -> disable(backend, protection).stream())
                    .toList();
        }

        /** A scenario's own properties, and those that disable protections of the backend {@code mvc}. */
        List<String> properties(String... own) {
            return Stream.concat(Stream.of(own), disable("mvc").stream()).toList();
        }

        List<String> disable(String backend, String protection) {
            List<String> properties =
                    without.contains(protection) ? PROTECTIONS.getOrDefault(protection, List.of()) : List.of();
            return properties.stream()
                    .map(property -> "--weir." + property.replace("*", backend))
                    .toList();
        }

        /** Adds a latency, which a quick run shows without a condition. */
        void addLatency(PromiseTable promises, String text, double promisedMillis, double millis) {
            String promised = "at most %.0f ms".formatted(promisedMillis);
            String measured = "%.0f ms".formatted(millis);
            promises.add(text, promised, measured, quick || millis <= promisedMillis);
        }

        /** The same with shorter phases. */
        Options inQuickForm() {
            return new Options(jar, configuration, true, without, steps);
        }

        /** The same without one more protection. */
        Options without(String protection) {
            List<String> all =
                    Stream.concat(without.stream(), Stream.of(protection)).toList();
            return new Options(jar, configuration, quick, all, steps);
        }

        /** Whether the scenario runs beside a peer. */
        boolean compares(PeerProxy peer) {
            return !quick && peer.isInstalled();
        }

        /** Starts a peer with a template of {@code perf/peers}; returns its port. */
        int startPeer(Processes processes, PeerProxy peer, String template, Map<String, ?> values)
                throws InterruptedException {
            return peer.start(processes, file("perf/peers/" + template), values);
        }

        /** A file of the repository. */
        Path file(String path) {
            return Objects.requireNonNull(configuration.toAbsolutePath().getParent())
                    .resolveSibling(path);
        }

        Duration seconds(int quickSeconds, int fullSeconds) {
            return Duration.ofSeconds(quick ? quickSeconds : fullSeconds);
        }

        /** Starts the gateway between two backends; returns when it is ready. */
        RunningServer startGateway(Processes processes, int mvcPort, int reactivePort, List<String> properties)
                throws InterruptedException {
            return startGateway(processes, jvm(), mvcPort, reactivePort, properties);
        }

        /** The options of a gateway's JVM. */
        List<String> jvm() {
            Path cache = jar.resolveSibling(CACHE);
            return Stream.of(SHORT_LIVED, Files.exists(cache) ? List.of("-XX:AOTCache=" + cache) : List.<String>of())
                    .filter(_ -> quick)
                    .flatMap(List::stream)
                    .toList();
        }

        RunningServer startGateway(
                Processes processes, List<String> jvm, int mvcPort, int reactivePort, List<String> properties)
                throws InterruptedException {
            List<String> java = new ArrayList<>(List.of(Host.java()));
            java.addAll(jvm);
            List<String> arguments = new ArrayList<>(List.of(configuration.toString()));
            arguments.addAll(properties);
            Map<String, Integer> ports = Map.of("MVC_PORT", mvcPort, "REACTIVE_PORT", reactivePort);
            RunningServer gateway = TestServers.gateway(processes, java, jar.toString(), ports, arguments);
            TestServers.awaitReadiness(processes, gateway);
            return gateway;
        }
    }

    private Scenario() {}

    /** A load on a server whose backend answers with two bytes. */
    static OpenLoad load(int port, String path) {
        return new OpenLoad(port, List.of(path), 20_000, Duration.ofSeconds(20), 2);
    }

    /** The exit code is 0 if all promises hold, 1 if not, 2 if the arguments are wrong. */
    public static void main(String[] args) throws Exception {
        System.exit(run(
                System.out, (name, promises) -> MeasuredTables.keep(name, "perf/scenario " + name, promises), args));
    }

    static int run(PrintStream out, String... args) throws Exception {
        return run(out, (name, promises) -> {}, args);
    }

    /** The same; passes on the table of a full run with all protections, and the name of its scenario. */
    private static int run(PrintStream out, BiConsumer<String, PromiseTable> full, String... args) throws Exception {
        if (args.length < 3 || !SCENARIOS.containsKey(args[0])) {
            return refuse(args.length == 0 || args[0].isEmpty() ? "no scenario" : args[0]);
        }
        boolean quick = false;
        List<String> without = new ArrayList<>();
        for (int i = 3; i < args.length; i++) {
            if (args[i].equals("--quick")) {
                quick = true;
            } else if (args[i].equals("--without") && i + 1 < args.length && PROTECTIONS.containsKey(args[i + 1])) {
                without.add(args[++i]);
            } else {
                return refuse(String.join(" ", List.of(args).subList(i, args.length)));
            }
        }
        Options options = new Options(Path.of(args[1]), Path.of(args[2]), quick, without);
        RunnableScenario scenario = Objects.requireNonNull(SCENARIOS.get(args[0]));
        PromiseTable promises = runWithoutStandstill(scenario, options);
        out.print(promises);
        if (!quick && without.isEmpty()) {
            full.accept(args[0], promises);
        }
        return promises.allHold() ? 0 : 1;
    }

    /** Repeats a quick run in which the machine stood still: such a run shows nothing. */
    private static PromiseTable runWithoutStandstill(RunnableScenario scenario, Options options) throws Exception {
        for (int attempt = 1; ; attempt++) {
            try (Standstill standstill = Standstill.watch()) {
                PromiseTable promises = scenario.run(options);
                Duration longest = standstill.longest();
                if (!options.quick() || longest.compareTo(MAX_STANDSTILL) < 0 || attempt == MAX_ATTEMPTS) {
                    describeMachine(longest);
                    return promises;
                }
                System.out.printf("the machine stood still for %d ms: repeating%n", longest.toMillis());
            }
        }
    }

    private static void describeMachine(Duration standstill) {
        System.out.printf(
                Locale.ROOT,
                "%s, %d processors, Java %s, %tF: requests were sent up to %d ms late, the machine stood still for"
                        + " %d ms%n",
                Host.description(),
                Runtime.getRuntime().availableProcessors(),
                Runtime.version(),
                LocalDate.now(ZoneOffset.UTC),
                OpenLoad.latestMillis(),
                standstill.toMillis());
    }

    /**
     * Runs a scenario with all protections, for the experiment of the same subject. It runs once: the rows of
     * a run that is repeated would be counted with those of the repetition. A fact says how long the machine
     * stood still.
     *
     * @param steps gets the name of each part that begins
     */
    public static PromiseTable promises(
            String name, Path jar, Path configuration, boolean quick, Consumer<String> steps) throws Exception {
        RunnableScenario scenario = Objects.requireNonNull(SCENARIOS.get(name), name);
        try (Standstill standstill = Standstill.watch()) {
            PromiseTable promises = scenario.run(new Options(jar, configuration, quick, List.of(), steps));
            Duration longest = standstill.longest();
            promises.fact("standstill.longest", (double) longest.toMillis(), "ms");
            describeMachine(longest);
            return promises;
        }
    }

    /** The installed ones of the peers with a template for each of the scenarios that compare. */
    public static List<PeerProxy> installedPeers() {
        return Stream.of(PeerProxy.HAPROXY, PeerProxy.ENVOY)
                .filter(PeerProxy::isInstalled)
                .toList();
    }

    private static int refuse(String argument) {
        System.err.printf(
                "perf/scenario: %s (expected: %s [--quick] [--without %s]...)%n",
                argument, String.join("|", SCENARIOS.keySet()), String.join("|", PROTECTIONS.keySet()));
        return 2;
    }
}
