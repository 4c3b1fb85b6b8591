package io.weir.perf.scenario;

import io.weir.perf.result.CsvTable;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Other faults of backends and callers. Each must end with one status and one outcome, in the metrics and in
 * the log, must not affect the neighbour, and must count at the breaker only if it is the backend's fault.
 */
record FaultsScenario(Scenario.Options options) {

    private static final int CALLS = 10;

    /** Longer than the deadline. */
    private static final int CALLER_TIMEOUT_MILLIS = 5000;

    /** Metrics and log follow the answer. */
    private static final Duration RECORD_TIMEOUT = Duration.ofSeconds(20);

    private static final String UPLOAD = "Content-Length: 200000\r\n";

    enum Behaviour {
        NORMAL,
        UPLOADS,
        SHORT_DEADLINE,
        UPLOADS_SLOWLY,
        READS_NOTHING,
        LEAVES
    }

    /**
     * A fault and its expected end: a line of {@code faults.csv}. The status is that of the callers, with
     * {@code broken} if the body ends too early; the outcome is that of metrics and log.
     */
    record ExpectedFault(String name, String path, Behaviour caller, String status, String outcome, boolean ofBackend) {

        String backend() {
            return path.split("/", -1)[1];
        }

        int leastFailures() {
            return ofBackend ? CALLS : 0;
        }

        /** Within the retry budget, a request that has not been sent is tried once more. */
        int mostFailures() {
            return backend().equals("gone") ? 2 * CALLS : leastFailures();
        }

        String failures() {
            return leastFailures() + (mostFailures() == leastFailures() ? "" : " to " + mostFailures());
        }
    }

    static final CsvTable<ExpectedFault> FAULTS = new CsvTable<>("faults.csv", ExpectedFault.class);

    PromiseTable run() throws Exception {
        int gone;
        try (FaultyBackend closed = new FaultyBackend()) {
            gone = closed.port();
        }
        try (FaultyBackend sick = new FaultyBackend();
                FaultyBackend healthy = new FaultyBackend();
                ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor();
                Processes processes = Processes.unlimited()) {
            Path log = Files.createFile(processes.directory().resolve("access.log"));
            List<String> properties = properties(sick.port(), gone, log);
            RunningServer gateway = options.startGateway(processes, sick.port(), healthy.port(), properties);
            PromiseTable promises = new PromiseTable();
            for (ExpectedFault fault : FAULTS.readResource()) {
                System.out.println(fault.name());
                check(fault, gateway, callers, log, promises);
            }
            return promises;
        }
    }

    private List<String> properties(int sick, int gone, Path log) {
        List<String> properties = new ArrayList<>(options.properties(
                "--weir.access-log.file=" + log,
                "--weir.backends.secure.uri=https://127.0.0.1:" + sick,
                // The first TLS handshakes of a JVM are slow.
                "--weir.backends.secure.deadline=4s",
                "--weir.backends.secure.connection.connect-timeout=3s",
                "--weir.backends.gone.uri=http://127.0.0.1:" + gone));
        List<String> names = List.of("mvc", "reactive", "secure", "gone");
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            String route = "--spring.cloud.gateway.server.webflux.routes[" + i + "].";
            String breaker = "--weir.backends." + name + ".circuit-breaker.";
            properties.addAll(List.of(
                    route + "id=" + name,
                    route + "uri=backend://" + name,
                    route + "predicates[0]=Path=/" + name + "/**",
                    route + "filters[0]=StripPrefix=1",
                    // The breaker must count, but not open: it takes as many stalled calls as the limit.
                    "--weir.backends." + name + ".bulkhead.max-concurrent-calls=" + 2 * CALLS,
                    breaker + "stall-calls=" + 2 * CALLS,
                    breaker + "sliding-window-size=1000",
                    breaker + "minimum-number-of-calls=1000"));
        }
        return properties;
    }

    private record RecordedCounts(long metered, long logged, long failed) {

        static RecordedCounts of(ExpectedFault fault, RunningServer gateway, Path log) throws IOException {
            String backend = '"' + fault.backend() + '"';
            String outcome = '"' + fault.outcome() + '"';
            long metered = gateway.count("weir_requests_seconds_count", "backend=" + backend, "outcome=" + outcome);
            long failed = gateway.count(
                    "resilience4j_circuitbreaker_calls_seconds_count", "name=" + backend, "kind=\"failed\"");
            try (var lines = Files.lines(log)) {
                long logged = lines.filter(line ->
                                line.contains("\"backend\":" + backend) && line.contains("\"outcome\":" + outcome))
                        .count();
                return new RecordedCounts(metered, logged, failed);
            }
        }

        RecordedCounts since(RecordedCounts before) {
            return new RecordedCounts(metered - before.metered, logged - before.logged, failed - before.failed);
        }

        boolean isComplete() {
            return metered >= CALLS && logged >= CALLS;
        }
    }

    private static void check(
            ExpectedFault fault, RunningServer gateway, ExecutorService callers, Path log, PromiseTable promises)
            throws Exception {
        RecordedCounts before = RecordedCounts.of(fault, gateway, log);
        List<Future<String>> calls = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            calls.add(callers.submit(() -> call(gateway.port(), fault.path(), fault.caller())));
        }
        boolean neighbourServed = true;
        Set<String> statuses = new TreeSet<>();
        for (Future<String> call : calls) {
            statuses.add(call.get());
            neighbourServed &=
                    call(gateway.port(), "/reactive/ok", Behaviour.NORMAL).equals("200");
        }
        boolean asExpected = statuses.equals(Set.of(fault.status()));
        long until = System.nanoTime() + (asExpected ? RECORD_TIMEOUT.toNanos() : 0);
        RecordedCounts counts = RecordedCounts.of(fault, gateway, log).since(before);
        while (!counts.isComplete() && System.nanoTime() - until < 0) {
            Thread.sleep(Duration.ofMillis(50));
            counts = RecordedCounts.of(fault, gateway, log).since(before);
        }
        boolean isCounted = counts.metered() == CALLS
                && counts.logged() == CALLS
                && counts.failed() >= fault.leastFailures()
                && counts.failed() <= fault.mostFailures();
        promises.add(
                fault.name(),
                fault.status() + "; failed " + fault.failures(),
                String.join(", ", statuses) + "; " + fault.outcome() + " " + counts.metered() + "/" + counts.logged()
                        + "; failed " + counts.failed() + (neighbourServed ? "" : "; neighbour not served"),
                asExpected && isCounted && neighbourServed);
    }

    /** Returns the status, {@code left}, or {@code nothing}. */
    private static String call(int port, String path, Behaviour caller) throws InterruptedException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(CALLER_TIMEOUT_MILLIS);
            boolean uploads = caller == Behaviour.UPLOADS || caller == Behaviour.UPLOADS_SLOWLY;
            String head = (uploads ? "POST " : "GET ") + path + " HTTP/1.1\r\nHost: weir.test\r\n"
                    + (uploads ? UPLOAD : "")
                    + (caller == Behaviour.SHORT_DEADLINE ? "X-Request-Timeout: 1ms\r\n" : "")
                    + "Connection: close\r\n\r\n";
            socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
            switch (caller) {
                case UPLOADS -> upload(socket);
                case UPLOADS_SLOWLY -> socket.getOutputStream().write('.');
                case LEAVES -> {
                    Thread.sleep(Duration.ofMillis(50));
                    socket.setSoLinger(true, 0);
                    return "left";
                }
                // Longer than the deadline.
                case READS_NOTHING -> Thread.sleep(Duration.ofSeconds(2));
                case NORMAL, SHORT_DEADLINE -> {}
            }
            return readStatus(new BufferedInputStream(socket.getInputStream()));
        } catch (IOException e) {
            return "nothing";
        }
    }

    private static void upload(Socket socket) {
        try {
            socket.getOutputStream().write(new byte[200_000]);
        } catch (IOException e) {
            // The backend has answered and closed.
        }
    }

    private static String readStatus(InputStream in) throws IOException {
        String[] first = FaultyBackend.readLine(in).split(" ", -1);
        if (first.length < 2) {
            return "nothing";
        }
        long length = -1;
        for (String field = FaultyBackend.readLine(in); !field.isEmpty(); field = FaultyBackend.readLine(in)) {
            if (field.regionMatches(true, 0, "Content-Length:", 0, 15)) {
                length = Long.parseLong(field.substring(15).strip());
            }
        }
        try {
            long read = in.transferTo(OutputStream.nullOutputStream());
            return length < 0 || read == length ? first[1] : first[1] + " broken";
        } catch (IOException e) {
            return first[1] + " broken";
        }
    }
}
