package io.weir.perf.bench;

import io.weir.perf.run.Child;
import io.weir.perf.run.Host;
import io.weir.perf.run.Wrk;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The gateway's speed beside that of its peers: {@code JAR CONFIGURATION PEERS [--rounds N] [--seconds N] [--warm-up N]}. */
public final class Bench {

    private static final int MEASURED_CORE = 0;
    private static final int LOAD_CORE = 1;
    /** Percent of its core that a peer has to use: with less, it was the load that was measured. */
    private static final double BUSY = 90;

    private static final int WARM_UPS = 8;
    private static final int CONNECTIONS = 32;

    /** What is measured: one address of one server, round after round. */
    private static final class Runner {

        private final String name;
        private final Child server;
        private final String uri;
        private final boolean refuses;
        private final List<Double> rates = new ArrayList<>();
        private final List<Double> busy = new ArrayList<>();

        Runner(String name, Child server, String uri, boolean refuses) {
            this.name = name;
            this.server = server;
            this.uri = uri;
            this.refuses = refuses;
        }

        /**
         * Until a load of this length is answered as it should be: a cold JVM takes longer than a second for some, and a breaker that
         * counts these stays open for a minute.
         */
        void warmUp(Duration time) throws IOException, InterruptedException {
            Wrk.Result result = load(time, uri);
            for (int i = 1; i < WARM_UPS && !asItShouldBe(result); i++) {
                result = load(time, uri);
            }
            check(result);
        }

        double measure(Duration time) throws IOException, InterruptedException {
            long began = System.nanoTime();
            Duration used = server.used();
            Wrk.Result result = load(time, uri);
            double share = 100.0 * server.used().minus(used).toNanos() / (System.nanoTime() - began);
            check(result);
            rates.add(result.perSecond());
            busy.add(share);
            return result.perSecond();
        }

        private boolean asItShouldBe(Wrk.Result result) {
            return result.requests() > 0 && result.refused() == (refuses ? result.requests() : 0);
        }

        private void check(Wrk.Result result) {
            if (!asItShouldBe(result)) {
                throw new IllegalStateException(
                        name + ": " + result + " (expected: all " + (refuses ? "refused" : "answered") + ")");
            }
        }

        double busy() {
            return median(busy);
        }

        String line() {
            StringBuilder line = new StringBuilder(String.format(Locale.ROOT, "%-44s", name));
            rates.forEach(rate -> line.append(String.format(Locale.ROOT, "%9.0f", rate)));
            return line.append(String.format(Locale.ROOT, "%10.0f%8.0f %%", median(rates), busy()))
                    .toString();
        }
    }

    private Bench() {}

    /** The exit code is 0 if all ratios hold, 1 if not, 2 if it cannot be measured. */
    public static void main(String[] args) throws Exception {
        System.exit(run(args));
    }

    static int run(String... args) throws Exception {
        int rounds = 5;
        int seconds = 5;
        int warmUp = 15;
        boolean understood = args.length >= 3 && args.length % 2 == 1;
        for (int i = 3; i + 1 < args.length && understood; i += 2) {
            boolean number = args[i + 1].matches("[1-9]\\d{0,3}");
            switch (number ? args[i] : "") {
                case "--rounds" -> rounds = Integer.parseInt(args[i + 1]);
                case "--seconds" -> seconds = Integer.parseInt(args[i + 1]);
                case "--warm-up" -> warmUp = Integer.parseInt(args[i + 1]);
                default -> understood = false;
            }
        }
        if (!understood) {
            System.err.println(
                    "bench: " + String.join(" ", args) + " (expected: [--rounds N] [--seconds N] [--warm-up N])");
            return 2;
        }
        if (Runtime.getRuntime().availableProcessors() < 2) {
            System.err.println("bench: one core (expected: two, one for whoever is measured and one for the load)");
            return 2;
        }
        try {
            return measure(args[0], args[1], args[2], rounds, Duration.ofSeconds(seconds), Duration.ofSeconds(warmUp));
        } catch (IllegalStateException e) {
            System.err.println("bench: " + e.getMessage());
            return 2;
        }
    }

    private static int measure(
            String jar, String configuration, String peers, int rounds, Duration time, Duration warmUp)
            throws IOException, InterruptedException {
        int backendPort = Host.freePort();
        int barePort = Host.freePort();
        int plainPort = Host.freePort();
        int port = Host.freePort();
        int managementPort = Host.freePort();
        String backend = uri(backendPort, "/");
        Deque<Child> servers = new ArrayDeque<>();
        try {
            servers.push(peer(LOAD_CORE, peers, "backend", backendPort, backend));
            Child bare = peer(MEASURED_CORE, peers, "bare", barePort, backend);
            servers.push(bare);
            Child plain = peer(MEASURED_CORE, peers, "plain", plainPort, backend);
            servers.push(plain);
            Child weir = start(
                    MEASURED_CORE,
                    "weir",
                    List.of("-jar", jar, configuration),
                    Map.of(
                            "GATEWAY_PORT", Integer.toString(port),
                            "MANAGEMENT_PORT", Integer.toString(managementPort),
                            "BACKEND_PORT", Integer.toString(backendPort)),
                    URI.create(uri(managementPort, "/actuator/health/readiness")));
            servers.push(weir);
            openBreaker(managementPort);

            Runner bareForward = new Runner("bare Reactor Netty proxy", bare, uri(barePort, "/1"), false);
            Runner forward = new Runner("Weir, compiled route", weir, uri(port, "/compiled/1"), false);
            Runner refuse = new Runner("Weir, compiled route, refused", weir, uri(port, "/refused/1"), true);
            Runner plainForward =
                    new Runner("Spring Cloud Gateway with CircuitBreaker", plain, uri(plainPort, "/1"), false);
            Runner general = new Runner("Weir, general route", weir, uri(port, "/general/1"), false);
            List<Runner> all = List.of(bareForward, forward, refuse, plainForward, general);
            for (Runner runner : all) {
                System.out.println("warming up: " + runner.name);
                runner.warmUp(warmUp);
            }
            for (int i = 0; i < rounds; i++) {
                System.out.printf(Locale.ROOT, "round %d of %d:", i + 1, rounds);
                for (Runner runner : all) {
                    System.out.printf(Locale.ROOT, " %.0f", runner.measure(time));
                }
                System.out.println();
            }
            System.out.printf(
                    Locale.ROOT,
                    "%nrequests/s of each round of %d s, %d connections, one core for whoever is measured%n",
                    time.toSeconds(),
                    CONNECTIONS);
            System.out.printf(Locale.ROOT, "%-" + (44 + 9 * rounds) + "s%10s%10s%n", "", "median", "of core");
            all.forEach(runner -> System.out.println(runner.line()));
            System.out.printf(
                    Locale.ROOT, "%n%-70s %10s %10s %s%n", "times as fast, median", "promised", "measured", "holds");
            boolean forwards = ratio(forward, bareForward, 0.75);
            boolean refuses = ratio(refuse, bareForward, 2);
            boolean generals = ratio(general, plainForward, 1.3);
            for (Runner peer : List.of(bareForward, plainForward)) {
                if (peer.busy() < BUSY) {
                    System.err.printf(Locale.ROOT, "%s: it was the load that was measured, not its core%n", peer.name);
                    return 2;
                }
            }
            return forwards && refuses && generals ? 0 : 1;
        } finally {
            for (Child server : servers) {
                server.close();
            }
        }
    }

    private static boolean ratio(Runner one, Runner beside, double promised) {
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < one.rates.size(); i++) {
            ratios.add(one.rates.get(i) / beside.rates.get(i));
        }
        double measured = median(ratios);
        System.out.printf(
                Locale.ROOT,
                "%-70s %10.2f %10.2f %s%n",
                one.name + " / " + beside.name,
                promised,
                measured,
                measured >= promised ? "yes" : "NO");
        return measured >= promised;
    }

    static double median(List<Double> of) {
        List<Double> sorted = of.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }

    /** Java with these arguments on a core, as soon as an address answers. All have the same heap and options. */
    private static Child start(
            int core, String name, List<String> arguments, Map<String, String> environment, URI ready)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "taskset",
                "-c",
                Integer.toString(core),
                ProcessHandle.current().info().command().orElse("java"),
                "-Xms512m",
                "-Xmx512m",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow"));
        command.addAll(arguments);
        return Child.start(name, command, environment).awaitAnswer(ready);
    }

    private static Wrk.Result load(Duration time, String uri) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("taskset", "-c", Integer.toString(LOAD_CORE)));
        command.addAll(Wrk.command(CONNECTIONS, time, uri));
        try (Child wrk = Child.start("wrk", command, Map.of())) {
            wrk.awaitExit();
            return Wrk.Result.parse(wrk.said());
        }
    }

    private static Child peer(int core, String peers, String name, int port, String backend)
            throws IOException, InterruptedException {
        return start(
                core,
                name,
                List.of(
                        "-cp",
                        peers,
                        "org.springframework.boot.loader.launch.JarLauncher",
                        name,
                        Integer.toString(port),
                        backend),
                Map.of(),
                URI.create(uri(port, "/1")));
    }

    private static void openBreaker(int managementPort) throws IOException, InterruptedException {
        try (HttpClient http =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
            HttpResponse<String> answer = http.send(
                    HttpRequest.newBuilder(URI.create(uri(managementPort, "/actuator/weir/refused")))
                            .header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString("{\"breaker\": \"open\"}"))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() / 100 != 2) {
                throw new IllegalStateException("breaker: " + answer.statusCode() + " " + answer.body());
            }
        }
    }

    private static String uri(int port, String path) {
        return "http://127.0.0.1:" + port + path;
    }
}
