package io.weir.perf.bench;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Host;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.MeasuredTables;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.Processes;
import io.weir.perf.run.Processes.Role;
import io.weir.perf.run.RateRounds;
import io.weir.perf.run.RunFailure;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.SteadyRate;
import io.weir.perf.run.TestServers;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * {@code perf/bench tls}: {@code JAR [--rounds N] [--seconds N] [--warm-up SECONDS]}. TLS of Weir beside that
 * of Envoy and HAProxy, each on one core; the load and the backend share another one.
 */
public final class TlsBenchmark {

    private static final int MEASURED_CORE = 0;
    private static final int LOAD_CORE = 1;
    private static final int MAX_WARM_UPS = 12;
    /** Of loads that take no seconds, as one part of a warm-up. */
    private static final int WARM_UP_LOADS = 25;

    private static final int SMALL_BYTES = 200;
    private static final long LARGE_BYTES = 50_000_000;
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final Pattern FAULT =
            Pattern.compile("Socket errors|Non-2xx|Failed requests: +[1-9]|\\b[1-9]\\d* (?:failed|errored|timeout)\\b");

    /** What is measured; {@code promised} is the least ratio to Envoy. */
    enum Kind {
        KEPT("kept connections", 0.9, Kind.WRK),
        KEPT_HTTP2("kept connections, HTTP/2", 0.9, "h2load -t1 -c32 -m1 -D${SECONDS} ${URL}"),
        FULL("full handshakes", 0.8, "ab -q -n 1000000 -c32 -t${SECONDS} ${URL}"),
        // wrk clears a connection's TLS for its next one, which keeps the session.
        RESUMED("resumed handshakes", 0.8, Kind.WRK + " -H ${CLOSE}"),
        LARGE("50 MB", 1 / 1.5, Kind.CURL + "--http1.1"),
        LARGE_HTTP2("50 MB, HTTP/2", 1 / 1.5, Kind.CURL + "--http2");

        private static final String WRK = "wrk -t1 -c32 -d${SECONDS}s --timeout 10s ${URL}";
        private static final String CURL = "curl -sSfk -o /dev/null -w %{speed_download} ${URL}large ";
        /** Of wrk, h2load, ab and curl. */
        private static final Pattern RATE = Pattern.compile(
                "(?:Requests/sec: +|finished in .*, |Requests per second: +|^)([\\d.]+)(?: req/s| \\[#/sec] |\\n|$)");

        final String text;
        final double promised;
        private final String command;

        Kind(String text, double promised, String command) {
            this.text = text;
            this.promised = promised;
            this.command = command;
        }

        boolean takesSeconds() {
            return command.contains("${SECONDS}");
        }

        List<String> command(String url, int seconds) {
            return Stream.of(command.split(" ", -1))
                    .map(word -> word.replace("${URL}", url)
                            .replace("${SECONDS}", Integer.toString(seconds))
                            .replace("${CLOSE}", "Connection: close"))
                    .toList();
        }

        /** The rate in the load's output. */
        double rate(String output) {
            Matcher found = RATE.matcher(output);
            if (!found.find() || FAULT.matcher(output).find()) {
                throw new RunFailure(text + ": " + output.strip() + " (expected: only answers)");
            }
            return Double.parseDouble(found.group(1));
        }
    }

    private record Subject(
            String name,
            ManagedProcess process,
            String url,
            Map<Kind, List<Double>> rates,
            Map<Kind, List<Double>> busy) {

        Subject(String name, ManagedProcess process, int port) {
            this(
                    name,
                    process,
                    "https://127.0.0.1:" + port + '/',
                    new EnumMap<>(Kind.class),
                    new EnumMap<>(Kind.class));
        }
    }

    private final Processes processes;
    private final Path directory;
    private final List<Subject> subjects = new ArrayList<>();

    private TlsBenchmark(Processes processes) {
        this.processes = processes;
        this.directory = processes.directory();
    }

    /** The exit code is 0 if all ratios hold, 1 if not, 2 without a measurement. */
    public static void main(String[] args) throws Exception {
        System.exit(run(args));
    }

    static int run(String... args) throws Exception {
        Map<String, Integer> options = new TreeMap<>(Map.of("--rounds", 5, "--seconds", 4, "--warm-up", 15));
        for (int i = 1; i < args.length; i += 2) {
            options.put(args[i], Integer.parseInt(args[i + 1]));
        }
        if (Runtime.getRuntime().availableProcessors() < 2) {
            System.err.println("bench: one core (expected: two, one for the measured server and one for the load)");
            return 2;
        }
        try (Processes processes = Processes.unlimited()) {
            TlsBenchmark benchmark = new TlsBenchmark(processes);
            benchmark.start(args[0]);
            PromiseTable ratios = benchmark.measure(
                    Objects.requireNonNull(options.get("--rounds")),
                    Objects.requireNonNull(options.get("--seconds")),
                    Objects.requireNonNull(options.get("--warm-up")));
            System.out.print(ratios);
            if (args.length == 1) {
                MeasuredTables.keep("bench-tls", "perf/bench tls", ratios);
            }
            return ratios.allHold() ? 0 : 1;
        } catch (RunFailure e) {
            System.err.println("bench: " + e.getMessage());
            return 2;
        }
    }

    private void start(String jar) throws Exception {
        Path key = directory.resolve("key.pem");
        Path certificate = directory.resolve("cert.pem");
        processes.run(
                Role.AUXILIARY,
                "openssl",
                List.of(
                        ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1"
                                        + " -addext subjectAltName=IP:127.0.0.1 -keyout " + key + " -out "
                                        + certificate)
                                .split(" ", -1)),
                PATIENCE);
        Files.writeString(directory.resolve("both.pem"), Files.readString(certificate) + Files.readString(key));
        // A worker of nginx that root has started is another user.
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        try (RandomAccessFile large =
                new RandomAccessFile(directory.resolve("large").toFile(), "rw")) {
            large.setLength(LARGE_BYTES);
        }
        int served = Host.freePort();
        Map<String, Object> values = new TreeMap<>(Map.of("ANSWER", "x".repeat(SMALL_BYTES), "SERVED_PORT", served));
        startPinned(PeerProxy.NGINX, LOAD_CORE, "served-tls.conf", served, values);
        RunningServer weir = TestServers.gateway(
                processes,
                List.of(("env CERTIFICATE=" + certificate + " PRIVATE_KEY=" + key + " taskset -c " + MEASURED_CORE + ' '
                                + Host.java() + " -Xms512m -Xmx512m --enable-native-access=ALL-UNNAMED"
                                + " --sun-misc-unsafe-memory-access=allow")
                        .split(" ", -1)),
                jar,
                Map.of("SERVED_PORT", served),
                List.of("perf/peers/weir-tls.yml"));
        TestServers.awaitReadiness(processes, weir);
        subjects.add(new Subject("Weir", weir.process().orElseThrow(), weir.port()));
        startPeer("Envoy", PeerProxy.ENVOY, "envoy-tls.yaml", values);
        startPeer("HAProxy", PeerProxy.HAPROXY, "haproxy-tls.cfg", values);
    }

    private void startPeer(String name, PeerProxy peer, String file, Map<String, ?> values)
            throws InterruptedException {
        int port = Host.freePort();
        subjects.add(new Subject(name, startPinned(peer, MEASURED_CORE, file, port, values), port));
    }

    private ManagedProcess startPinned(PeerProxy proxy, int core, String file, int port, Map<String, ?> values)
            throws InterruptedException {
        Map<String, Object> all = new TreeMap<>(values);
        all.putAll(Map.of("PORT", port, "CORES", 1));
        List<String> pinned = new ArrayList<>(List.of("taskset", "-c", Integer.toString(core)));
        pinned.addAll(proxy.words(Path.of("perf", "peers", file), all, directory));
        ManagedProcess process = processes.start(proxy.label(), pinned, Map.of());
        processes.await(proxy.label() + " listens", () -> listens(port));
        return process;
    }

    private static boolean listens(int port) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private PromiseTable measure(int rounds, int seconds, int warmUp) throws InterruptedException {
        Subject weir = subjects.getFirst();
        System.out.println("warming up");
        for (Kind kind : Kind.values()) {
            SteadyRate.reach(MAX_WARM_UPS, () -> warmUpRound(weir, kind, warmUp));
        }
        for (int round = 1; round <= rounds; round++) {
            for (Kind kind : Kind.values()) {
                System.out.printf("round %d of %d, %s:", round, rounds, kind.text);
                for (Subject subject : subjects) {
                    System.out.printf(" %.0f", measure(subject, kind, seconds));
                }
                System.out.println();
            }
        }
        Subject envoy = subjects.get(1);
        Subject haproxy = subjects.get(2);
        PromiseTable ratios = new PromiseTable();
        for (Kind kind : Kind.values()) {
            ratios.atLeast(
                    kind.text + ": Weir / " + envoy.name,
                    kind.promised,
                    RateRounds.ratio(rates(weir, kind), rates(envoy, kind)),
                    "times");
            ratios.show(
                    kind.text + ": Weir / " + haproxy.name,
                    PromiseTable.number(RateRounds.ratio(rates(weir, kind), rates(haproxy, kind)), "times"));
            subjects.forEach(subject -> ratios.show(
                    kind.text + ": " + subject.name,
                    "%.0f/s, %.0f %% of its core"
                            .formatted(
                                    Requests.median(rates(subject, kind)),
                                    Requests.median(Objects.requireNonNull(subject.busy.get(kind))))));
        }
        return ratios;
    }

    private static List<Double> rates(Subject subject, Kind kind) {
        return Objects.requireNonNull(subject.rates.get(kind));
    }

    private double measure(Subject subject, Kind kind, int seconds) throws InterruptedException {
        Duration before = subject.process.cpuTime();
        long began = System.nanoTime();
        double rate = load(subject, kind, seconds);
        double elapsed = System.nanoTime() - began;
        double used = subject.process.cpuTime().minus(before).toNanos();
        subject.rates.computeIfAbsent(kind, key -> new ArrayList<>()).add(rate);
        subject.busy.computeIfAbsent(kind, key -> new ArrayList<>()).add(100 * used / elapsed);
        return rate;
    }

    /** The best rate of a round; 0 if a call failed, since a cold JVM is slow, and refuses calls. */
    private double warmUpRound(Subject subject, Kind kind, int seconds) throws InterruptedException {
        double best = 0;
        try {
            for (int loads = kind.takesSeconds() ? 1 : WARM_UP_LOADS; loads > 0; loads--) {
                best = Math.max(best, load(subject, kind, seconds));
            }
        } catch (RunFailure refused) {
            System.out.println("again: " + kind.text);
            return 0;
        }
        return best;
    }

    private double load(Subject subject, Kind kind, int seconds) throws InterruptedException {
        List<String> command = new ArrayList<>(List.of("taskset", "-c", Integer.toString(LOAD_CORE)));
        command.addAll(kind.command(subject.url, seconds));
        String name = Objects.requireNonNull(command.get(3));
        return kind.rate(processes.run(Role.GENERATOR, name, command, PATIENCE));
    }
}
