package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.WorkerService;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import io.weir.perf.scenario.CallerBytes.Frame;
import io.weir.perf.scenario.RawCallers.Behaviour;
import io.weir.perf.scenario.RawCallers.Counts;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.springframework.core.io.ClassPathResource;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/**
 * Thousands of callers that are slow, and one that sends too much, beside 200 requests a second of others,
 * all to one backend. The slow callers and the one have another address than the others. Each part begins
 * with a calm phase, so the latencies of both phases are of the same state of the machine.
 */
record CallersScenario(Scenario.Options options) {

    private static final int OTHERS = 200;
    private static final Duration SERVICE_TIME = Duration.ofMillis(20);
    private static final int WORKERS = 40;
    private static final int QUICK_WORKERS = 25;
    private static final byte[] SMALL = "ok".getBytes(StandardCharsets.US_ASCII);
    /** More than sockets and the gateway hold of an answer that is not read. */
    private static final byte[] LARGE = ".".repeat(4_000_000).getBytes(StandardCharsets.US_ASCII);

    /** The adaptive limit has scenarios of its own. */
    private static final String QUICK = """
            weir:
              edge:
                max-connections: 2000
                head-timeout: 2s
                body-idle-timeout: 2s
                read-idle-timeout: 2s
                keep-alive-timeout: 3s
              backends:
                # Calls that find no permit fail after half of it.
                shop: { deadline: 8s }
                # Room for what the rate limit lets through while the machine is busy with other tests and the
                # backend is slow, not for a call on each of the one caller's connections.
                limited: { bulkhead: { max-concurrent-calls: 25, queue-capacity: 700, max-wait-duration: 10s } }
              # Twice what all others send together in a quick run.
              routes: { limited: { rate-limit: { permits: 200 } } }
            """;

    /** Readers come back after a while: they are slow, and do not flood the backend with requests. */
    private static final Duration BACK = Duration.ofSeconds(30);

    /** The longest wait for connections to end. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    /** For a busy machine, but less than the deadline of a quick run, which ends uploads, too. */
    private static final double QUICK_LONGEST_SECONDS = 7;

    private static final double SLOWER = 1.5;
    private static final int HEAP_MEGABYTES = 512;
    private static final double FLAT = 1.1;
    private static final double FLAT_MEGABYTES = 10;

    /**
     * Callers of one kind.
     *
     * @param longestSeconds the time-out that ends such a connection; 0: the call may first wait for a permit
     */
    private record SlowKind(String name, Behaviour behaviour, double longestSeconds) {

        /** Readers need a permit for a moment, so that a burst of them is an overload like any other. */
        int openedPerSecond() {
            return longestSeconds > 0 ? 1000 : 150;
        }
    }

    /** The gateway under test and what its parts share. */
    private record Front(Processes processes, RunningServer gateway, PromiseTable promises) {}

    /**
     * What a part has measured.
     *
     * @param megabytes the gateway's memory: calm, at a third of the attack, at its end, and after it; empty
     *     in parts of one caller
     * @param cores the gateway's processor time during the attack
     */
    private record Measured(Requests calm, Requests during, List<Double> megabytes, double cores, List<Counts> counts) {

        /**
         * The requests of others in the last two fifths of the attack. It begins with as many calls as there
         * are slow callers.
         */
        Requests settled() {
            long began = during.stream().mapToLong(Request::atMillis).min().orElse(0);
            long end = during.stream().mapToLong(Request::atMillis).max().orElse(0);
            return during.sentBetween(began + (end - began) * 3 / 5, Long.MAX_VALUE);
        }

        /** The ended ones of the connections with which a kind began: of the kind with the fewest. */
        long ended() {
            return counts.stream().mapToLong(Counts::endedFirst).min().orElse(0);
        }

        double longestSeconds() {
            return counts.stream().mapToDouble(Counts::longestSeconds).max().orElse(0);
        }
    }

    PromiseTable run() throws Exception {
        WorkerService workers = new WorkerService(options.quick() ? QUICK_WORKERS : WORKERS, SERVICE_TIME);
        try (LightBackend backend = LightBackend.answering(CallersScenario::body, request -> serve(request, workers));
                Processes processes = Processes.unlimited()) {
            List<String> arguments = configure(processes.directory());
            List<String> jvm = new ArrayList<>(options.jvm());
            jvm.addAll(List.of("-Xmx" + HEAP_MEGABYTES + "m", "-XX:MaxDirectMemorySize=" + HEAP_MEGABYTES + "m"));
            RunningServer gateway = options.startGateway(processes, jvm, backend.port(), backend.port(), arguments);
            Front front = new Front(processes, gateway, new PromiseTable());
            Scenario.load(gateway.port(), "/shop/1").run(OTHERS, options.seconds(3, 20));
            for (SlowKind kind : slowKinds()) {
                slow(front, kind);
            }
            requests(front);
            connections(front);
            floods(front);
            return front.promises;
        }
    }

    private static byte[] body(HttpServerRequest request) {
        return request.uri().endsWith("large") ? LARGE : SMALL;
    }

    private static Mono<Void> serve(HttpServerRequest request, WorkerService workers) {
        return request.receive().then(Mono.defer(() -> workers.apply(request)));
    }

    private List<String> configure(Path directory) throws Exception {
        String text =
                new ClassPathResource("callers.yml", CallersScenario.class).getContentAsString(StandardCharsets.UTF_8);
        List<String> arguments = new ArrayList<>();
        arguments.add(Files.writeString(directory.resolve("callers.yml"), text).toString());
        if (options.quick()) {
            arguments.add(
                    Files.writeString(directory.resolve("quick.yml"), QUICK).toString());
        }
        arguments.addAll(options.calm());
        arguments.addAll(options.disable("shop"));
        return arguments;
    }

    // ---------------------------------------------------------------- slow callers

    private List<SlowKind> slowKinds() {
        Duration second = Duration.ofSeconds(1);
        byte[] none = {};
        byte[] http2 = CallerBytes.concat(CallerBytes.preface(65_535), Frame.SETTINGS.bytes(1, 0));
        byte[] noWindow = CallerBytes.concat(CallerBytes.preface(0), Frame.SETTINGS.bytes(1, 0));
        double head = options.quick() ? 2 : 10;
        double body = options.quick() ? 2 : 15;
        double idle = options.quick() ? 3 : 15;
        return List.of(
                new SlowKind(
                        "heads",
                        Behaviour.of(
                                CallerBytes.head("GET /shop/1"), CallerBytes.ascii("A: b\r\n"), second, true, second),
                        head),
                new SlowKind(
                        "uploads",
                        Behaviour.of(
                                CallerBytes.concat(
                                        CallerBytes.head("POST /shop/1", "Content-Length: 1000000"),
                                        CallerBytes.ascii("\r\n")),
                                CallerBytes.ascii("."),
                                second,
                                true,
                                second),
                        body),
                new SlowKind("readers", Behaviour.of(CallerBytes.get("/shop/large"), none, second, false, BACK), 0),
                new SlowKind(
                        "idle, HTTP/1.1", Behaviour.of(CallerBytes.get("/shop/1"), none, second, true, second), idle),
                new SlowKind(
                        "idle, HTTP/2",
                        Behaviour.of(
                                CallerBytes.concat(http2, CallerBytes.headers(1, "/shop/1", true)),
                                none,
                                second,
                                true,
                                second),
                        idle),
                new SlowKind(
                        "readers, HTTP/2",
                        Behaviour.of(
                                CallerBytes.concat(noWindow, CallerBytes.headers(1, "/shop/large", true)),
                                CallerBytes.openWindow(1, 1),
                                second,
                                true,
                                BACK),
                        0));
    }

    private void slow(Front front, SlowKind kind) throws Exception {
        // In a quick run, the streams have room for all readers.
        int count = !options.quick() ? 3000 : kind.longestSeconds > 0 ? 300 : 150;
        OpenLoad others = Scenario.load(front.gateway.port(), "/shop/1");
        Measured measured = measure(
                front,
                true,
                others,
                kind.longestSeconds > 0 ? count : 0,
                () -> List.of(RawCallers.start(front.gateway.port(), kind.behaviour, count, kind.openedPerSecond())));
        PromiseTable promises = front.promises.of(count + " " + kind.name + ": ");
        System.out.println(kind.name + ": " + measured.counts);
        answered(promises, measured);
        double calm = measured.calm.percentile(99);
        double during = measured.settled().percentile(99);
        promises.add(
                "others, p99 of the last 15 s (before)",
                "at most 1.5 times",
                "%.1f ms (%.1f ms)".formatted(during, calm),
                options.quick() || during <= SLOWER * calm);
        List<Double> megabytes = measured.megabytes;
        promises.add(
                "memory: before, soon, at the end, after",
                "flat",
                "%.0f, %.0f, %.0f, %.0f MB"
                        .formatted(megabytes.get(0), megabytes.get(1), megabytes.get(2), megabytes.get(3)),
                (options.quick() || isFlat(megabytes.get(1), megabytes.get(2)))
                        && isFlat(megabytes.get(0), megabytes.get(3)));
        if (kind.longestSeconds > 0) {
            ended(promises, measured, count, kind.longestSeconds, 1.2 * kind.longestSeconds + 1);
        }
    }

    private static boolean isFlat(double before, double after) {
        return after <= FLAT * before + FLAT_MEGABYTES;
    }

    // ---------------------------------------------------------------- one caller that sends too much

    private void requests(Front front) throws Exception {
        // In both cases, more than the backend serves.
        int perSecond = options.quick() ? 2000 : 10_000;
        int count = options.quick() ? 900 : 1000;
        Duration interval = Duration.ofMillis(1000L * count / perSecond);
        Behaviour behaviour = Behaviour.of(new byte[0], CallerBytes.get("/limited/1"), interval, true, interval);
        OpenLoad others = Scenario.load(front.gateway.port(), "/limited/1");
        Measured measured = measure(
                front,
                false,
                others,
                0,
                () -> List.of(RawCallers.start(front.gateway.port(), behaviour, count, count)));
        overload(front, "one caller, %d requests/s: ".formatted(perSecond), measured);
    }

    private void connections(Front front) throws Exception {
        int count = options.quick() ? 2500 : 20_000;
        Behaviour behaviour =
                Behaviour.of(new byte[0], new byte[0], Duration.ofSeconds(1), true, Duration.ofSeconds(5));
        OpenLoad others = Scenario.load(front.gateway.port(), "/shop/1").withNewConnections(front.gateway.port());
        Measured measured = measure(
                front,
                false,
                others,
                0,
                () -> List.of(RawCallers.start(front.gateway.port(), behaviour, count, count / 5)));
        overload(front, "one caller, %d connections: ".formatted(count), measured);
    }

    private void floods(Front front) throws Exception {
        byte[] http2 = CallerBytes.concat(CallerBytes.preface(65_535), Frame.SETTINGS.bytes(1, 0));
        byte[] resets = CallerBytes.concat(http2, CallerBytes.rapidResets(2000, "/shop/1"));
        byte[] openHead = CallerBytes.headers(1, "/shop/1", true);
        openHead[4] &= ~4;
        byte[] post = CallerBytes.concat(http2, CallerBytes.headers(1, "/shop/1", false));
        Map<String, Behaviour> kinds = new TreeMap<>();
        kinds.put("rapid reset", flood(resets));
        kinds.put("PING", flood(http2, Frame.PING.bytes(0, 0, new byte[8])));
        kinds.put("SETTINGS", flood(http2, Frame.SETTINGS.bytes(0, 0)));
        kinds.put("CONTINUATION", flood(CallerBytes.concat(http2, openHead), Frame.CONTINUATION.bytes(0, 1)));
        kinds.put("empty DATA", flood(post, Frame.DATA.bytes(0, 1)));
        OpenLoad others = Scenario.load(front.gateway.port(), "/shop/1").withNewConnections(front.gateway.port());
        int count = options.quick() ? 5 : 20;
        Measured measured = measure(
                front,
                false,
                others,
                count,
                () -> kinds.values().stream()
                        .map(kind -> RawCallers.start(front.gateway.port(), kind, count, count))
                        .toList());
        overload(front, "one caller, floods of HTTP/2: ", measured);
        ended(front.promises.of("one caller, floods of HTTP/2: "), measured, count, 1, 3);
    }

    /** All connections have ended with which each kind began, each at its time. */
    private void ended(PromiseTable promises, Measured measured, int count, double seconds, double most) {
        double longest = options.quick() ? QUICK_LONGEST_SECONDS : most;
        promises.add(
                "connections ended",
                "the first %d, after about %.0f s".formatted(count, seconds),
                "%d, longest %.1f s".formatted(measured.ended(), measured.longestSeconds()),
                measured.ended() == count && measured.longestSeconds() <= longest);
    }

    private static Behaviour flood(byte[] first, byte... frame) {
        Duration interval = Duration.ofMillis(100);
        return Behaviour.of(first, CallerBytes.repeat(100, frame), interval, true, interval);
    }

    private static void overload(Front front, String name, Measured measured) {
        PromiseTable promises = front.promises.of(name);
        System.out.println(name + measured.counts);
        answered(promises, measured);
        promises.show(
                "others, p99 (before); gateway's cores",
                "%.1f ms (%.1f ms), %.2f"
                        .formatted(measured.during.percentile(99), measured.calm.percentile(99), measured.cores));
    }

    private static void answered(PromiseTable promises, Measured measured) {
        Requests during = measured.during;
        promises.add(
                "others answered 200",
                "all",
                during.successes().size() + " of " + during.size()
                        + (during.failures().isEmpty()
                                ? ""
                                : " " + during.failures().countByOutcome()),
                during.failures().isEmpty());
    }

    // ---------------------------------------------------------------- measurement

    /**
     * Measures the others before and during an attack.
     *
     * @param ended the connections with which each kind begins, if the attack lasts until they end; or 0
     */
    private Measured measure(
            Front front, boolean withMemory, OpenLoad others, int ended, Supplier<List<RawCallers>> attack)
            throws Exception {
        int rate = options.quick() ? OTHERS / 2 : OTHERS;
        Duration calmTime = options.seconds(1, 10);
        // In a quick run: longer than the time-outs, and what a connection may take beyond them.
        Duration time = options.seconds(5, 35);
        MemorySamples memory = new MemorySamples(front, withMemory, new ArrayList<>());
        memory.sample();
        Requests before = others.run(rate, calmTime);
        List<RawCallers> callers = attack.get();
        try {
            Duration cpu = front.gateway.process().orElseThrow().cpuTime();
            long began = System.nanoTime();
            CompletableFuture<Requests> sent = others.send(rate, time);
            Thread.sleep(time.dividedBy(3));
            memory.sample();
            Requests during = sent.join();
            awaitEnded(callers, ended);
            List<Counts> counts = callers.stream().map(RawCallers::counts).toList();
            double cores = (double) front.gateway
                            .process()
                            .orElseThrow()
                            .cpuTime()
                            .minus(cpu)
                            .toNanos()
                    / (System.nanoTime() - began);
            memory.sample();
            callers.forEach(RawCallers::close);
            // The gateway notices it.
            Thread.sleep(options.seconds(1, 3));
            memory.sample();
            return new Measured(before, during, memory.megabytes, cores, counts);
        } finally {
            callers.forEach(RawCallers::close);
            others.closeConnections();
        }
    }

    /** The gateway of a busy machine ends connections late. */
    private static void awaitEnded(List<RawCallers> callers, int count) throws InterruptedException {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (callers.stream().anyMatch(one -> one.counts().endedFirst() < count) && System.nanoTime() - end < 0) {
            Thread.sleep(100);
        }
    }

    /** The gateway's memory after a collection of its garbage; nothing if the part does not show it. */
    private record MemorySamples(Front front, boolean isShown, List<Double> megabytes) {

        void sample() throws InterruptedException {
            if (!isShown) {
                return;
            }
            front.processes.collectGarbage(front.gateway);
            double heap = front.gateway.metric("jvm_memory_used_bytes", "area=\"heap\"") / 1e6;
            double direct = front.gateway.metric("weir_memory_used_ratio", "area=\"direct\"") * HEAP_MEGABYTES;
            System.out.printf("heap %.0f MB, direct %.0f MB%n", heap, direct);
            megabytes.add(heap + direct);
        }
    }
}
