package io.weir.perf.scenario;

import com.sun.management.UnixOperatingSystemMXBean;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.scenario.RefusalsScenario.Callers;
import io.weir.perf.scenario.RefusalsScenario.Case;
import io.weir.perf.scenario.RefusalsScenario.CaseRoute;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/** Callers that upload slowly, ask for upgrades, or forge headers take nothing from others. */
final class CallerCases {

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
                new Case("upgrade", "bulkhead", request -> countUpgrade(), this::upgrades),
                new Case("forwarded", "forwarded-header-check", this::recordPath, this::forgedPrefix),
                new Case("office", "forwarded-header-check", request -> Mono.empty(), this::forgedAddress));
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
        Callers callers = (route, promises) -> slowUploads(route, sockets, promises);
        return new Case(
                "uploads-" + sockets,
                "slow-caller-compartment",
                request -> request.receive().then(),
                callers);
    }

    private void upgrades(CaseRoute route, PromiseTable promises) {
        OpenLoad load = route.load()
                .withHeader("Upgrade", "websocket")
                .withHeader("Connection", "Upgrade")
                .withHeader("Sec-WebSocket-Version", "13")
                .withHeader("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        int answered = load.burst(UPGRADES).join().successes().size();
        promises.add(
                "300 GETs like WebSocket handshakes: in the backend at once",
                "at most " + LIMIT,
                mostUpgrading + ", answered " + answered,
                mostUpgrading.get() <= LIMIT && answered >= (options.quick() ? 1 : LIMIT));
    }

    private Mono<Void> recordPath(HttpServerRequest request) {
        return Mono.fromRunnable(() -> forwardedPaths.add(request.uri()));
    }

    private Mono<Void> countUpgrade() {
        mostUpgrading.accumulateAndGet(upgrading.incrementAndGet(), Math::max);
        return Mono.delay(Duration.ofSeconds(1)).then().doFinally(end -> upgrading.decrementAndGet());
    }

    private static String forge(CaseRoute route, String header, String value) {
        Requests sent = route.load().withHeader(header, value).burst(1).join();
        return sent.all().getFirst().outcome();
    }

    /** The route's predicates make it a general one, whose filters know the header. */
    private void forgedPrefix(CaseRoute route, PromiseTable promises) {
        String outcome = forge(route, "X-Forwarded-Prefix", "/forwarded/../secret");
        promises.add(
                "X-Forwarded-Prefix of any caller, on Kubernetes: path at the backend",
                "/forwarded/1",
                forwardedPaths + " " + outcome,
                forwardedPaths.equals(Set.of("/forwarded/1")) && outcome.equals(Request.SUCCESS));
    }

    private void forgedAddress(CaseRoute route, PromiseTable promises) {
        String outcome = forge(route, "X-Forwarded-For", "192.0.2.7");
        promises.add(
                "X-Forwarded-For of any caller, on Kubernetes: route by address",
                "no-route",
                outcome,
                outcome.equals("no-route"));
    }

    private void slowUploads(CaseRoute route, int sockets, PromiseTable promises) throws Exception {
        Duration time = options.seconds(3, 20);
        List<Socket> dripping = new ArrayList<>();
        try (ExecutorService uploads = Executors.newVirtualThreadPerTaskExecutor()) {
            OpenLoad load = route.load();
            load.run(50, options.seconds(1, 5));
            for (int i = 0; i < sockets; i++) {
                dripping.add(startUpload(route, 1000));
            }
            CompletableFuture<Requests> sent = load.send(options.quick() ? 50 : 200, time);
            List<Future<String>> alive = new ArrayList<>();
            for (int i = 0; i < SLOW_CALLERS; i++) {
                // Half of the bodies are longer than the read-ahead.
                int bytes = i % 2 == 0 ? 10_000 : 100_000;
                alive.add(uploads.submit(() -> upload(route, bytes, time.dividedBy(2 * PARTS))));
            }
            while (!sent.isDone()) {
                dripping.forEach(CallerCases::drip);
                Thread.sleep(500);
            }
            Map<String, Integer> uploaded = new TreeMap<>();
            for (Future<String> one : alive) {
                uploaded.merge(one.get(), 1, Integer::sum);
            }
            String text = "slow uploads, " + sockets + ": ";
            Requests others = sent.join();
            promises.atLeast(text + "others answered 200", options.quick() ? 97 : 100, others.successPercent(), "%");
            promises.show(text + "others, p99", PromiseTable.number(others.percentile(99), "ms"));
            promises.add(
                    text + "slow, but alive: answered 200",
                    Map.of(OK, SLOW_CALLERS).toString(),
                    uploaded.toString(),
                    uploaded.equals(Map.of(OK, SLOW_CALLERS)));
        } finally {
            for (Socket socket : dripping) {
                socket.close();
            }
        }
    }

    private static Socket startUpload(CaseRoute route, int bytes) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), route.port());
        String head =
                "POST /%s/1 HTTP/1.1\r\nHost: weir.test\r\nContent-Length: %d\r\n\r\n".formatted(route.name(), bytes);
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

    private static String upload(CaseRoute route, int bytes, Duration pause) throws InterruptedException {
        try (Socket socket = startUpload(route, bytes)) {
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
