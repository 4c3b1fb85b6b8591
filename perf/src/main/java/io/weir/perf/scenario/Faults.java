package io.weir.perf.scenario;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
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
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Everything else that backends and callers do wrong: each ends in one status and one word, in the metrics and in the log; no neighbour is harmed; and only what is
 * the backend's own doing moves its breaker.
 */
final class Faults {

    private static final int CALLS = 10;
    /** A caller's; well above the deadline, which is to come first. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    /** What callers saw is told a moment later. */
    private static final Duration UNTIL_TOLD = Duration.ofSeconds(20);

    private static final Duration LEAVES_AFTER = Duration.ofMillis(50);

    /** What a caller does. */
    private enum Manner {
        USUAL,
        UPLOADS,
        IN_A_HURRY,
        UPLOADS_AT_A_CRAWL,
        READS_NOTHING,
        LEAVES
    }

    /**
     * A fault, and what it is to end in.
     *
     * @param seen the status that callers see, and what becomes of the body: {@code broken} if it ends too early
     * @param outcome in metrics and log
     * @param backends whether it is the backend's fault
     */
    private record Fault(String name, String path, Manner manner, String seen, String outcome, boolean backends) {}

    private static final List<Fault> FAULTS = List.of(
            new Fault("5xx", "/mvc/fails", Manner.USUAL, "500", "5xx", true),
            new Fault(
                    "reset in the middle of a body",
                    "/mvc/resets",
                    Manner.USUAL,
                    "200 broken",
                    "connection-lost",
                    true),
            new Fault("truncated body", "/mvc/truncates", Manner.USUAL, "200 broken", "connection-lost", true),
            new Fault("malformed answer", "/mvc/babbles", Manner.USUAL, "502", "connection-lost", true),
            new Fault("a byte a second", "/mvc/trickles", Manner.USUAL, "504", "deadline-exceeded", true),
            new Fault("hang", "/mvc/hangs", Manner.USUAL, "504", "deadline-exceeded", true),
            new Fault("answer before the body is read", "/mvc/answers-early", Manner.UPLOADS, "200", "2xx", false),
            new Fault("early hints", "/mvc/hints", Manner.USUAL, "200", "2xx", false),
            new Fault("TLS that fails", "/secure/ok", Manner.USUAL, "502", "connect-failed", true),
            new Fault("refused connection", "/gone/ok", Manner.USUAL, "502", "connect-failed", true),
            new Fault(
                    "caller with a deadline of 1 ms",
                    "/mvc/takes-a-while",
                    Manner.IN_A_HURRY,
                    "504",
                    "deadline-exceeded",
                    false),
            new Fault(
                    "caller that uploads at a crawl",
                    "/mvc/hangs",
                    Manner.UPLOADS_AT_A_CRAWL,
                    "408",
                    "client-too-slow",
                    false),
            new Fault(
                    "caller that reads nothing",
                    "/mvc/answers-at-length",
                    Manner.READS_NOTHING,
                    "200 broken",
                    "client-too-slow",
                    false),
            new Fault("caller that leaves", "/mvc/takes-a-while", Manner.LEAVES, "left", "client-closed", false));

    private final Scenario.Options options;

    Faults(Scenario.Options options) {
        this.options = options;
    }

    Promises run() throws Exception {
        Path log = Files.createTempFile("weir-scenario", ".access.log");
        int gone;
        try (FaultyBackend closed = new FaultyBackend()) {
            gone = closed.port();
        }
        try (FaultyBackend sick = new FaultyBackend();
                FaultyBackend healthy = new FaultyBackend();
                ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor();
                Gateway gateway = Gateway.start(options, sick.port(), healthy.port(), properties(sick, gone, log))) {
            Promises promises = new Promises();
            for (Fault fault : FAULTS) {
                System.out.println(fault.name());
                check(fault, gateway, callers, log, promises);
            }
            return promises;
        } finally {
            Files.deleteIfExists(log);
        }
    }

    private List<String> properties(FaultyBackend sick, int gone, Path log) {
        List<String> properties = new ArrayList<>(List.of(
                "--weir.access-log.file=" + log,
                "--weir.backends.secure.uri=https://127.0.0.1:" + sick.port(),
                // Ten at once are the first for which TLS is used.
                "--weir.backends.secure.deadline=4s",
                "--weir.backends.secure.connection.connect-timeout=3s",
                "--weir.backends.gone.uri=http://127.0.0.1:" + gone));
        List<String> names = List.of("mvc", "reactive", "secure", "gone");
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            String route = "--spring.cloud.gateway.server.webflux.routes[" + i + "].";
            properties.addAll(List.of(
                    route + "id=" + name,
                    route + "uri=backend://" + name,
                    route + "predicates[0]=Path=/" + name + "/**",
                    route + "filters[0]=StripPrefix=1",
                    // What moves the breaker is counted; it is not to open meanwhile.
                    "--weir.backends." + name + ".circuit-breaker.sliding-window-size=1000",
                    "--weir.backends." + name + ".circuit-breaker.minimum-number-of-calls=1000"));
        }
        properties.addAll(options.off("mvc"));
        return properties;
    }

    private static void check(Fault fault, Gateway gateway, ExecutorService callers, Path log, Promises promises)
            throws Exception {
        String backend = fault.path().split("/", -1)[1];
        double metered = metered(gateway, backend, fault.outcome());
        double failed = failed(gateway, backend);
        long logged = logged(log, backend, fault.outcome());
        List<Future<String>> calls = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            calls.add(callers.submit(call(gateway.port(), fault.path(), fault.manner())));
        }
        boolean neighbourServed = true;
        Set<String> seen = new TreeSet<>();
        for (Future<String> call : calls) {
            seen.add(call.get());
            neighbourServed &=
                    call(gateway.port(), "/reactive/ok", Manner.USUAL).call().equals("200");
        }
        // If callers saw something else, nothing is to come.
        long until = System.nanoTime() + (seen.equals(Set.of(fault.seen())) ? UNTIL_TOLD.toNanos() : 0);
        while (System.nanoTime() - until < 0
                && (metered(gateway, backend, fault.outcome()) - metered < CALLS
                        || logged(log, backend, fault.outcome()) - logged < CALLS)) {
            Thread.sleep(Duration.ofMillis(50));
        }
        metered = metered(gateway, backend, fault.outcome()) - metered;
        logged = logged(log, backend, fault.outcome()) - logged;
        failed = failed(gateway, backend) - failed;
        String told = String.join(", ", seen) + "; " + fault.outcome() + " " + (long) metered + "/" + logged
                + "; failed " + (long) failed + (neighbourServed ? "" : "; neighbour harmed");
        promises.add(
                fault.name(),
                fault.seen() + "; failed " + (fault.backends() ? CALLS : 0),
                told,
                seen.equals(Set.of(fault.seen()))
                        && metered == CALLS
                        && logged == CALLS
                        && failed == (fault.backends() ? CALLS : 0)
                        && neighbourServed);
    }

    private static double metered(Gateway gateway, String backend, String outcome)
            throws IOException, InterruptedException {
        return gateway.metric(
                "weir_requests_seconds_count", "backend=\"" + backend + '"', "outcome=\"" + outcome + '"');
    }

    private static double failed(Gateway gateway, String backend) throws IOException, InterruptedException {
        return gateway.metric(
                "resilience4j_circuitbreaker_calls_seconds_count", "name=\"" + backend + '"', "kind=\"failed\"");
    }

    private static long logged(Path log, String backend, String outcome) throws IOException {
        try (var lines = Files.lines(log)) {
            return lines.filter(line -> line.contains("\"backend\":\"" + backend + '"')
                            && line.contains("\"outcome\":\"" + outcome + '"'))
                    .count();
        }
    }

    /** What a caller sees: a status, {@code broken} behind it if the body is not whole; {@code left}; {@code nothing}. */
    private static Callable<String> call(int port, String path, Manner manner) {
        return () -> {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                socket.setSoTimeout((int) PATIENCE.toMillis());
                boolean uploads = manner == Manner.UPLOADS || manner == Manner.UPLOADS_AT_A_CRAWL;
                String head = (uploads ? "POST " : "GET ") + path + " HTTP/1.1\r\nHost: weir.test\r\n"
                        + (uploads ? "Content-Length: 200000\r\n" : "")
                        + (manner == Manner.IN_A_HURRY ? "X-Request-Timeout: 1ms\r\n" : "")
                        + "Connection: close\r\n\r\n";
                socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
                if (manner == Manner.UPLOADS) {
                    upload(socket);
                } else if (manner == Manner.UPLOADS_AT_A_CRAWL) {
                    socket.getOutputStream().write('.');
                } else if (manner == Manner.LEAVES) {
                    Thread.sleep(LEAVES_AFTER);
                    socket.setSoLinger(true, 0);
                    return "left";
                } else if (manner == Manner.READS_NOTHING) {
                    // Longer than the deadline.
                    Thread.sleep(Duration.ofSeconds(2));
                }
                return seen(new BufferedInputStream(socket.getInputStream()));
            } catch (IOException e) {
                return "nothing";
            }
        };
    }

    private static void upload(Socket socket) {
        try {
            socket.getOutputStream().write(new byte[200_000]);
        } catch (IOException e) {
            // The answer is there already.
        }
    }

    private static String seen(InputStream in) throws IOException {
        String status = line(in).split(" ", -1)[1];
        long length = -1;
        for (String field = line(in); !field.isEmpty(); field = line(in)) {
            if (field.regionMatches(true, 0, "Content-Length:", 0, 15)) {
                length = Long.parseLong(field.substring(15).strip());
            }
        }
        try {
            long read = in.transferTo(java.io.OutputStream.nullOutputStream());
            return length < 0 || read == length ? status : status + " broken";
        } catch (IOException e) {
            return status + " broken";
        }
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new java.io.EOFException();
            }
            if (b != '\r') {
                line.append((char) b);
            }
        }
        return line.toString();
    }
}
