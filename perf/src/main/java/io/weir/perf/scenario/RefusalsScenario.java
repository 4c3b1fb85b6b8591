package io.weir.perf.scenario;

import com.sun.management.UnixOperatingSystemMXBean;
import io.weir.perf.LightBackend;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/**
 * Traffic that protections once harmed, and callers that once harmed others. Each case has a backend of its
 * own behind one gateway. A quick run has all cases at once, a full one those with much load one by one.
 */
final class RefusalsScenario {

    private static final String LOW_TRAFFIC = "low-traffic";
    private static final List<Integer> OPEN_RATES = List.of(1, 6, 20);
    private static final String OPEN = "open-";
    private static final String LONG_DEADLINE = "long-deadline";
    private static final String MIXED = "mixed";
    private static final String SLOW = "slow";
    private static final String IMPATIENT = "impatient";
    private static final String UPGRADE = "upgrade";
    private static final String UPLOADS = "uploads";
    private static final String FORWARDED = "forwarded";

    private static final int BURST = 6;
    private static final long DEADLINE_MICROS = 2_000_000;

    private static final int LIMIT = 64;
    private static final int UPGRADES = 300;
    private static final int SLOW_CALLERS = 20;
    private static final Duration SLOW_SERVICE = Duration.ofMillis(1200);
    private static final int PARTS = 20;

    private final Scenario.Options options;
    /** A refusal takes far less; a caller who waits for a stalled call takes at least a second. */
    private final long waitMicros;

    private final SwallowingService lowTraffic = new SwallowingService(Duration.ofMillis(10));
    private final SwallowingService open = new SwallowingService(Duration.ofMillis(10));
    private final SwallowingService longDeadline = new SwallowingService(Duration.ofMillis(10));
    private final SwallowingService impatient = new SwallowingService(Duration.ofMillis(10));
    private final AtomicInteger upgrading = new AtomicInteger();
    private final AtomicInteger mostUpgrading = new AtomicInteger();
    private final Set<String> forwardedPaths = new ConcurrentSkipListSet<>();

    /** The services by the first segment of the path. */
    private final Map<String, Function<HttpServerRequest, Mono<Void>>> services = Map.of(
            LOW_TRAFFIC, request -> lowTraffic.get(),
            OPEN, request -> open.get(),
            LONG_DEADLINE, request -> longDeadline.get(),
            MIXED,
                    request -> Mono.delay(Duration.ofMillis(request.uri().endsWith("slow") ? 1500 : 3))
                            .then(),
            SLOW, request -> Mono.delay(SLOW_SERVICE).then(),
            IMPATIENT, request -> impatient.get(),
            UPGRADE, this::countUpgrade,
            UPLOADS, request -> request.receive().then(),
            FORWARDED, request -> Mono.fromRunnable(() -> forwardedPaths.add(request.uri())));

    private int port;

    RefusalsScenario(Scenario.Options options) {
        this.options = options;
        this.waitMicros = options.quick() ? 900_000 : 250_000;
    }

    PromiseTable run() throws Exception {
        try (LightBackend backend = new LightBackend(
                        0,
                        "ok".getBytes(StandardCharsets.US_ASCII),
                        request -> service(request).apply(request));
                ExecutorService cases = Executors.newVirtualThreadPerTaskExecutor();
                Processes processes = Processes.unlimited()) {
            RunningServer gateway = options.startGateway(
                    processes, backend.port(), backend.port(), configure(backend.port(), processes.directory()));
            port = gateway.port();
            // The first calls of a cold JVM are slow, and a backend's usual time decides when it stalls.
            load(LOW_TRAFFIC).send(50, options.seconds(2, 10)).join();
            List<Callable<Consumer<PromiseTable>>> light = List.of(
                    this::burstsAtLowTraffic,
                    this::callersOfAnOpenBreaker,
                    this::recoveryWithALongDeadline,
                    this::slowBackend,
                    this::impatientCallers,
                    this::upgrades,
                    this::forwardedHeaders);
            List<Callable<Consumer<PromiseTable>>> heavy = new ArrayList<>(List.of(
                    this::slowCallsAmongFastOnes,
                    () -> slowUploads(options.quick() ? 100 : 1000, options.seconds(3, 20))));
            if (!options.quick() && openFiles() > 8000) {
                heavy.add(() -> slowUploads(3000, Duration.ofSeconds(20)));
            }
            List<Future<Consumer<PromiseTable>>> results = new ArrayList<>();
            light.forEach(one -> results.add(cases.submit(one)));
            for (Callable<Consumer<PromiseTable>> one : heavy) {
                if (!options.quick()) {
                    awaitAll(results);
                }
                results.add(cases.submit(one));
            }
            PromiseTable promises = new PromiseTable();
            for (Future<Consumer<PromiseTable>> result : results) {
                result.get().accept(promises);
            }
            return promises;
        }
    }

    private static <T> void awaitAll(Collection<Future<T>> results) throws Exception {
        for (Future<T> result : results) {
            result.get();
        }
    }

    /** The files that this process may open; the gateway may open as many. */
    private static long openFiles() {
        return ManagementFactory.getPlatformMXBean(UnixOperatingSystemMXBean.class)
                .getMaxFileDescriptorCount();
    }

    private Function<HttpServerRequest, Mono<Void>> service(HttpServerRequest request) {
        String name = request.uri().split("/", 3)[1];
        return services.getOrDefault(name.startsWith(OPEN) ? OPEN : name, other -> Mono.empty());
    }

    // ---------------------------------------------------------------- configuration

    /** A case's backend; {@code protection}: the one that the case shows. */
    private record Compartment(String name, String protection, String settings) {}

    private static List<Compartment> compartments() {
        List<Compartment> all = new ArrayList<>(List.of(
                new Compartment(LOW_TRAFFIC, "probes", ""),
                new Compartment(
                        LONG_DEADLINE,
                        "probes",
                        "deadline: 20s, bulkhead: { max-concurrent-calls: 10, queue-capacity: 10 }, circuit-breaker: {"
                                + " slow-call-duration-threshold: 500ms, slow-call-rate-threshold: 50 }"),
                new Compartment(
                        MIXED,
                        "slow-call-tolerance",
                        // So that no pause of this machine fills the bulkhead.
                        "bulkhead: { max-concurrent-calls: 1000, queue-capacity: 1000, max-wait-duration: 1s },"
                                + " circuit-breaker: { sliding-window-size: 10, minimum-number-of-calls: 5 }"),
                new Compartment(SLOW, "slow-call-tolerance", ""),
                new Compartment(IMPATIENT, "circuit-breaker", ""),
                new Compartment(UPGRADE, "bulkhead", ""),
                new Compartment(UPLOADS, "slow-caller-compartment", ""),
                new Compartment(FORWARDED, "forwarded-header-check", "")));
        OPEN_RATES.forEach(rate -> all.add(new Compartment(OPEN + rate, "circuit-breaker", "")));
        return all;
    }

    /** Writes the configuration; returns the gateway's arguments. */
    private List<String> configure(int backendPort, Path directory) throws IOException {
        List<String> arguments = new ArrayList<>();
        StringBuilder routes = new StringBuilder();
        StringBuilder backends = new StringBuilder();
        for (Compartment one : compartments()) {
            arguments.addAll(options.disable(one.name(), one.protection()));
            routes.append(
                    route(one.name(), one.name(), one.name().equals(FORWARDED) ? ", After=2020-01-01T00:00:00Z" : ""));
            backends.append("    %s: { uri: \"http://127.0.0.1:%d\"%s }%n"
                    .formatted(one.name(), backendPort, one.settings().isEmpty() ? "" : ", " + one.settings()));
        }
        routes.append(route("office", FORWARDED, ", RemoteAddr=192.0.2.7"));
        Path file = Files.writeString(directory.resolve("refusals.yml"), """
                spring.main.cloud-platform: kubernetes
                spring.cloud.gateway.server.webflux.routes:
                %sweir:
                  backends:
                %s""".formatted(routes, backends));
        arguments.addFirst(file.toString());
        return arguments;
    }

    private static String route(String id, String backend, String predicates) {
        return "  - { id: %s, uri: \"backend://%s\", predicates: [ Path=/%s/**%s ] }%n"
                .formatted(id, backend, id, predicates);
    }

    private OpenLoad load(String path) {
        return Scenario.load(port, "/" + path + "/1");
    }

    // ---------------------------------------------------------------- cases

    private Consumer<PromiseTable> burstsAtLowTraffic() throws InterruptedException {
        Duration interval = Duration.ofMillis(options.quick() ? 1500 : 6000);
        bursts(2, interval);
        lowTraffic.hang();
        List<Request> during = bursts(2, interval);
        Thread.sleep(ThreadLocalRandom.current().nextLong(interval.toMillis()));
        lowTraffic.heal();
        List<Request> after = bursts(options.quick() ? 3 : 6, interval);
        long waited = count(during, one -> one.micros() >= DEADLINE_MICROS);
        long refused = during.size() - waited;
        long lost = count(after, one -> !one.succeeded());
        return promises -> {
            promises.add(
                    "bursts of six: wait out the deadline, of two bursts during a hang",
                    "at most " + BURST + ", others refused",
                    waited + " waited, " + refused + " refused",
                    waited <= BURST && count(during, this::isRefusedAtOnce) == refused);
            promises.add(
                    "bursts of six: not answered after the heal",
                    "at most the first burst",
                    lost + " of " + after.size(),
                    lost <= BURST && after.size() > BURST);
        };
    }

    /** Bursts at their times; returns when all are answered. */
    private List<Request> bursts(int count, Duration interval) throws InterruptedException {
        OpenLoad load = load(LOW_TRAFFIC);
        List<CompletableFuture<List<Request>>> bursts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            bursts.add(burst(load, BURST));
            Thread.sleep(interval);
        }
        return join(bursts);
    }

    private Consumer<PromiseTable> callersOfAnOpenBreaker() {
        List<OpenLoad> loads =
                OPEN_RATES.stream().map(rate -> load(OPEN + rate)).toList();
        sendAtRates(loads, 20, Duration.ofSeconds(1));
        open.hang();
        // These wait for their deadline.
        sendAtRates(loads, 20, Duration.ofSeconds(1));
        List<CompletableFuture<List<Request>>> sent = new ArrayList<>();
        for (int i = 0; i < loads.size(); i++) {
            sent.add(loads.get(i).send(OPEN_RATES.get(i), options.seconds(6, 25)));
        }
        List<Request> requests = join(sent);
        long refused = count(requests, this::isRefusedAtOnce);
        return promises -> promises.add(
                "1, 6 and 20 callers a second of an open breaker: refused at once",
                "all",
                refused + " of " + requests.size(),
                refused == requests.size());
    }

    private static void sendAtRates(List<OpenLoad> loads, int rate, Duration time) {
        join(loads.stream().map(load -> load.send(rate, time)).toList());
    }

    /** The callers give up after the round, so that none of its calls lasts into the next one. */
    private Consumer<PromiseTable> recoveryWithALongDeadline() throws InterruptedException {
        Duration calm = Duration.ofSeconds(1);
        Duration hang = options.seconds(3, 5);
        Duration total = calm.plus(hang).plusSeconds(3);
        OpenLoad load = new OpenLoad(port, List.of("/" + LONG_DEADLINE + "/1"), 1000, total, 2);
        List<Double> firstAnswers = new ArrayList<>();
        for (int i = 0; i < (options.quick() ? 1 : 5); i++) {
            CompletableFuture<List<Request>> requests = load.send(100, total);
            Thread.sleep(calm);
            longDeadline.hang();
            Thread.sleep(hang.plusMillis(ThreadLocalRandom.current().nextLong(1000)));
            long heals = OpenLoad.nowMillis();
            longDeadline.heal();
            OptionalDouble first = requests.join().stream()
                    .filter(one -> one.succeeded() && one.endMillis() > heals)
                    .mapToDouble(Request::endMillis)
                    .min();
            firstAnswers.add(first.isPresent() ? first.getAsDouble() - heals : Double.POSITIVE_INFINITY);
        }
        int most = options.quick() ? 2500 : 1000;
        double latest =
                firstAnswers.stream().mapToDouble(Double::doubleValue).max().orElseThrow();
        return promises -> promises.add(
                "deadline of 20 s: first answer after the heal, longest of " + firstAnswers.size(),
                "less than " + most + " ms",
                String.format(Locale.ROOT, "%.0f ms", latest),
                latest < most);
    }

    private Consumer<PromiseTable> slowCallsAmongFastOnes() throws InterruptedException {
        // More than the machine serves would wait in the gateway's sockets.
        int rate = options.quick()
                ? 200
                : Math.min(2000, 1000 * Runtime.getRuntime().availableProcessors());
        OpenLoad fast = load(MIXED);
        fast.send(100, options.seconds(1, 5)).join();
        int seconds = options.quick() ? 4 : 10;
        CompletableFuture<List<Request>> sent = fast.send(rate, Duration.ofSeconds(seconds));
        OpenLoad slow = Scenario.load(port, "/" + MIXED + "/slow");
        List<CompletableFuture<List<Request>>> all = new ArrayList<>(List.of(sent));
        for (int i = 0; i < seconds; i++) {
            all.add(burst(slow, 5));
            Thread.sleep(Duration.ofSeconds(1));
        }
        List<Request> requests = join(all);
        long lost = count(requests, one -> !one.succeeded());
        int most = options.quick() ? requests.size() / 50 : 0;
        return promises -> promises.add(
                "five slow calls a second among fast ones, window of 10: refused",
                "at most " + most,
                lost + " of " + requests.size() + " (" + rate + "/s)",
                lost <= most);
    }

    private Consumer<PromiseTable> slowBackend() throws Exception {
        Duration time = options.seconds(7, 20);
        OpenLoad load = load(SLOW);
        long end = System.nanoTime() + time.toNanos();
        List<Request> requests = new ArrayList<>();
        try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<List<Request>>> sent = new ArrayList<>();
            for (int i = 0; i < SLOW_CALLERS; i++) {
                sent.add(callers.submit(() -> callUntil(end, load)));
            }
            for (Future<List<Request>> one : sent) {
                requests.addAll(one.get());
            }
        }
        long answered = count(requests, Request::succeeded);
        // Of 100 and 320 that are possible.
        int least = options.quick() ? 50 : 300;
        int most = options.quick() ? 30 : 10;
        return promises -> promises.add(
                "answers after 1.2 s, deadline of 2 s, 20 callers: answered",
                "at least " + least + ", refused " + most,
                answered + ", refused " + (requests.size() - answered),
                answered >= least && requests.size() - answered <= most);
    }

    private static List<Request> callUntil(long end, OpenLoad load) throws InterruptedException {
        List<Request> requests = new ArrayList<>();
        while (System.nanoTime() - end < 0) {
            Request request = burst(load, 1).join().getFirst();
            requests.add(request);
            Thread.sleep(request.succeeded() ? 0 : 10);
        }
        return requests;
    }

    private Consumer<PromiseTable> impatientCallers() {
        OpenLoad load = load(IMPATIENT).withHeader("X-Request-Timeout", "500ms");
        load.send(20, Duration.ofSeconds(2)).join();
        impatient.hang();
        long hangs = OpenLoad.nowMillis();
        List<Request> requests = load.send(20, options.seconds(5, 10)).join().stream()
                .filter(one -> one.atMillis() >= hangs + 2000)
                .toList();
        long refused = count(requests, this::isRefusedAtOnce);
        return promises -> promises.add(
                "callers with 500 ms: refused at once from 2 s after a hang on",
                "all",
                refused + " of " + requests.size(),
                refused == requests.size() && refused > 0);
    }

    private Consumer<PromiseTable> upgrades() {
        OpenLoad load = load(UPGRADE)
                .withHeader("Upgrade", "websocket")
                .withHeader("Connection", "Upgrade")
                .withHeader("Sec-WebSocket-Version", "13")
                .withHeader("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        long answered = count(burst(load, UPGRADES).join(), Request::succeeded);
        return promises -> promises.add(
                "300 GETs like WebSocket handshakes: in the backend at once",
                "at most " + LIMIT,
                mostUpgrading + ", answered " + answered,
                mostUpgrading.get() <= LIMIT && answered >= LIMIT);
    }

    private Mono<Void> countUpgrade(HttpServerRequest request) {
        mostUpgrading.accumulateAndGet(upgrading.incrementAndGet(), Math::max);
        return Mono.delay(Duration.ofSeconds(1)).then().doFinally(end -> upgrading.decrementAndGet());
    }

    private Consumer<PromiseTable> forwardedHeaders() {
        Request general = burst(load(FORWARDED).withHeader("X-Forwarded-Prefix", "/forwarded/../secret"), 1)
                .join()
                .getFirst();
        Request office = burst(load("office").withHeader("X-Forwarded-For", "192.0.2.7"), 1)
                .join()
                .getFirst();
        return promises -> promises.add(
                "X-Forwarded-* of any caller, on Kubernetes: path, route by address",
                "/forwarded/1, no-route",
                forwardedPaths + " " + general.outcome() + ", " + office.outcome(),
                general.succeeded()
                        && forwardedPaths.equals(Set.of("/forwarded/1"))
                        && office.outcome().equals("no-route"));
    }

    private Consumer<PromiseTable> slowUploads(int sockets, Duration time) throws Exception {
        List<Socket> dripping = new ArrayList<>();
        try (ExecutorService uploads = Executors.newVirtualThreadPerTaskExecutor()) {
            OpenLoad load = load(UPLOADS);
            load.send(50, options.seconds(1, 5)).join();
            for (int i = 0; i < sockets; i++) {
                dripping.add(startUpload(1000));
            }
            CompletableFuture<List<Request>> others = load.send(options.quick() ? 50 : 200, time);
            List<Future<Boolean>> alive = new ArrayList<>();
            for (int i = 0; i < SLOW_CALLERS; i++) {
                // Half of them are longer than what is read ahead.
                int bytes = i % 2 == 0 ? 10_000 : 100_000;
                alive.add(uploads.submit(() -> upload(bytes, time.dividedBy(2 * PARTS))));
            }
            while (!others.isDone()) {
                dripping.forEach(RefusalsScenario::drip);
                Thread.sleep(500);
            }
            List<Request> requests = others.join();
            int succeeded = 0;
            for (Future<Boolean> one : alive) {
                succeeded += one.get() ? 1 : 0;
            }
            int uploaded = succeeded;
            String text = "slow uploads, " + sockets + ": ";
            return promises -> {
                promises.atLeast(
                        text + "others answered 200", options.quick() ? 97 : 100, Request.successPercent(requests));
                promises.add(text + "(others: p99)", "", milliseconds(requests), true);
                promises.add(
                        text + "slow, but alive: answered 200",
                        "all",
                        uploaded + " of " + SLOW_CALLERS,
                        uploaded == SLOW_CALLERS);
            };
        } finally {
            for (Socket socket : dripping) {
                socket.close();
            }
        }
    }

    private static String milliseconds(List<Request> requests) {
        return String.format(Locale.ROOT, "%.1f ms", Request.percentile(requests, 99));
    }

    private Socket startUpload(int bytes) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        String head = "POST /" + UPLOADS + "/1 HTTP/1.1\r\nHost: weir.test\r\nContent-Length: " + bytes + "\r\n\r\n";
        socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    private static void drip(Socket socket) {
        try {
            socket.getOutputStream().write('.');
        } catch (IOException e) {
            // The gateway has ended the upload.
        }
    }

    private boolean upload(int bytes, Duration pause) throws IOException, InterruptedException {
        try (Socket socket = startUpload(bytes)) {
            for (int i = 0; i < PARTS; i++) {
                Thread.sleep(pause);
                socket.getOutputStream().write(new byte[bytes / PARTS]);
            }
            return FaultyBackend.readLine(new BufferedInputStream(socket.getInputStream()))
                    .contains(" 200 ");
        }
    }

    // ---------------------------------------------------------------- requests

    /** Sends requests at once. */
    private static CompletableFuture<List<Request>> burst(OpenLoad load, int count) {
        return load.send(1000 * count, Duration.ofMillis(1));
    }

    private static List<Request> join(List<CompletableFuture<List<Request>>> sent) {
        return sent.stream().flatMap(one -> one.join().stream()).toList();
    }

    private boolean isRefusedAtOnce(Request request) {
        return request.outcome().equals("circuit-open") && request.micros() < waitMicros;
    }

    private static long count(List<Request> requests, Predicate<Request> matches) {
        return requests.stream().filter(matches).count();
    }
}
