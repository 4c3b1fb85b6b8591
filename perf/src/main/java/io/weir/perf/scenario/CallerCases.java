package io.weir.perf.scenario;

import com.sun.management.UnixOperatingSystemMXBean;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.scenario.RefusalsScenario.Case;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import reactor.core.publisher.Mono;

/** Callers that upload slowly, ask for upgrades, or forge headers take nothing from others. */
final class CallerCases {

    private static final String UPGRADE = "upgrade";
    private static final String UPLOADS = "uploads";
    private static final String FORWARDED = "forwarded";
    private static final String OFFICE = "office";

    private static final String OK = "HTTP/1.1 200 OK";
    private static final int LIMIT = 64;
    private static final int UPGRADES = 300;
    private static final int SLOW_CALLERS = 20;
    private static final int PARTS = 20;
    private static final int OPEN_FILES = 8000;

    private final Scenario.Options options;
    private final AtomicInteger upgrading = new AtomicInteger();
    private final AtomicInteger mostUpgrading = new AtomicInteger();
    private final Set<String> forwardedPaths = new ConcurrentSkipListSet<>();

    CallerCases(Scenario.Options options) {
        this.options = options;
    }

    List<Case> light() {
        return List.of(
                new Case(UPGRADE, "bulkhead", "", request -> countUpgrade(), this::upgrades),
                new Case(
                        FORWARDED,
                        "forwarded-header-check",
                        "",
                        request -> Mono.fromRunnable(() -> forwardedPaths.add(request.uri())),
                        this::forgedPrefix),
                new Case(OFFICE, "forwarded-header-check", "", request -> Mono.empty(), this::forgedAddress));
    }

    List<Case> heavy() {
        List<Case> cases = new ArrayList<>();
        cases.add(uploads(options.quick() ? 100 : 1000));
        long files = ManagementFactory.getPlatformMXBean(UnixOperatingSystemMXBean.class)
                .getMaxFileDescriptorCount();
        if (!options.quick() && files > OPEN_FILES) {
            cases.add(uploads(3000));
        }
        return cases;
    }

    private Case uploads(int sockets) {
        String name = UPLOADS + "-" + sockets;
        return new Case(
                name,
                "slow-caller-compartment",
                "",
                request -> request.receive().then(),
                port -> slowUploads(port, name, sockets));
    }

    private Consumer<PromiseTable> upgrades(int port) {
        OpenLoad load = RefusalsScenario.load(port, UPGRADE)
                .withHeader("Upgrade", "websocket")
                .withHeader("Connection", "Upgrade")
                .withHeader("Sec-WebSocket-Version", "13")
                .withHeader("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        long answered =
                RefusalsScenario.count(RefusalsScenario.burst(load, UPGRADES).join(), Request::succeeded);
        return promises -> promises.add(
                "300 GETs like WebSocket handshakes: in the backend at once",
                "at most " + LIMIT,
                mostUpgrading + ", answered " + answered,
                mostUpgrading.get() <= LIMIT && answered >= (options.quick() ? 1 : LIMIT));
    }

    private Mono<Void> countUpgrade() {
        mostUpgrading.accumulateAndGet(upgrading.incrementAndGet(), Math::max);
        return Mono.delay(Duration.ofSeconds(1)).then().doFinally(end -> upgrading.decrementAndGet());
    }

    /** The route's predicates make it a general one, whose filters know the header. */
    private Consumer<PromiseTable> forgedPrefix(int port) {
        OpenLoad load = RefusalsScenario.load(port, FORWARDED).withHeader("X-Forwarded-Prefix", "/forwarded/../secret");
        String outcome = RefusalsScenario.call(load).outcome();
        return promises -> promises.add(
                "X-Forwarded-Prefix of any caller, on Kubernetes: path at the backend",
                "/forwarded/1",
                forwardedPaths + " " + outcome,
                forwardedPaths.equals(Set.of("/forwarded/1")) && outcome.equals(Request.SUCCESS));
    }

    private Consumer<PromiseTable> forgedAddress(int port) {
        OpenLoad load = RefusalsScenario.load(port, OFFICE).withHeader("X-Forwarded-For", "192.0.2.7");
        String outcome = RefusalsScenario.call(load).outcome();
        return promises -> promises.add(
                "X-Forwarded-For of any caller, on Kubernetes: route by address",
                "no-route",
                outcome,
                outcome.equals("no-route"));
    }

    private Consumer<PromiseTable> slowUploads(int port, String name, int sockets) throws Exception {
        Duration time = options.seconds(3, 20);
        List<Socket> dripping = new ArrayList<>();
        try (ExecutorService uploads = Executors.newVirtualThreadPerTaskExecutor()) {
            OpenLoad load = RefusalsScenario.load(port, name);
            load.send(50, options.seconds(1, 5)).join();
            for (int i = 0; i < sockets; i++) {
                dripping.add(startUpload(port, name, 1000));
            }
            CompletableFuture<List<Request>> others = load.send(options.quick() ? 50 : 200, time);
            List<Future<String>> alive = new ArrayList<>();
            for (int i = 0; i < SLOW_CALLERS; i++) {
                // Half of them are longer than what is read ahead.
                int bytes = i % 2 == 0 ? 10_000 : 100_000;
                alive.add(uploads.submit(() -> upload(port, name, bytes, time.dividedBy(2 * PARTS))));
            }
            while (!others.isDone()) {
                dripping.forEach(CallerCases::drip);
                Thread.sleep(500);
            }
            List<Request> requests = others.join();
            Map<String, Integer> uploaded = new TreeMap<>();
            for (Future<String> one : alive) {
                uploaded.merge(one.get(), 1, Integer::sum);
            }
            String text = "slow uploads, " + sockets + ": ";
            return promises -> {
                promises.atLeast(
                        text + "others answered 200", options.quick() ? 97 : 100, Request.successPercent(requests));
                promises.add(text + "(others: p99)", "", milliseconds(requests), true);
                promises.add(
                        text + "slow, but alive: answered 200",
                        Map.of(OK, SLOW_CALLERS).toString(),
                        uploaded.toString(),
                        uploaded.equals(Map.of(OK, SLOW_CALLERS)));
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

    private static Socket startUpload(int port, String name, int bytes) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        String head = "POST /" + name + "/1 HTTP/1.1\r\nHost: weir.test\r\nContent-Length: " + bytes + "\r\n\r\n";
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

    /** Returns the answer's status line, or why there is none. */
    private static String upload(int port, String name, int bytes, Duration pause) throws InterruptedException {
        try (Socket socket = startUpload(port, name, bytes)) {
            for (int i = 0; i < PARTS; i++) {
                Thread.sleep(pause);
                socket.getOutputStream().write(new byte[bytes / PARTS]);
            }
            return FaultyBackend.readLine(new BufferedInputStream(socket.getInputStream()));
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
