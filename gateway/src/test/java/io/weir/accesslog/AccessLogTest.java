package io.weir.accesslog;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.awaitility.Awaitility.await;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.door.RequestFacts;
import io.weir.engine.Backend;
import io.weir.engine.BackendObserver;
import io.weir.engine.Caller;
import io.weir.engine.Exchange;
import io.weir.engine.Route;
import io.weir.engine.RouteObserver;
import io.weir.fallback.Fallback;
import io.weir.fallback.FallbackProperties;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.testing.Allocation;
import io.weir.testing.ObservedGateway;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

public class AccessLogTest {

    /** A log with all members, and no field of requests. */
    public static final AccessLogProperties PROPERTIES = new AccessLogProperties(true, null, 16, Set.of(), Set.of());

    private static final long NOW = Instant.parse("2026-03-01T12:00:00.500Z").toEpochMilli();

    /** A sink that collects lines; it can block and fail. */
    private static final class CollectingSink implements LineSink {

        final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        final CountDownLatch entered = new CountDownLatch(1);
        final CountDownLatch released;
        volatile boolean broken;
        volatile boolean closed;

        CollectingSink(boolean blocked) {
            released = new CountDownLatch(blocked ? 1 : 0);
        }

        @Override
        public void write(byte[] bytes, int length) throws IOException {
            entered.countDown();
            try {
                released.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            if (broken) {
                throw new IOException("no space left on device");
            }
            new String(bytes, 0, length, StandardCharsets.UTF_8).lines().forEach(lines::add);
        }

        @Override
        public void check() {}

        @Override
        public void close() {
            closed = true;
        }

        String next() throws InterruptedException {
            String line = lines.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            if (line == null) {
                throw new AssertionError("no line was written within 20 seconds");
            }
            return line;
        }
    }

    private final ObservedGateway fixture = new ObservedGateway();
    private final Backend backend = fixture.backend(BackendObserver.NONE);
    private final CollectingSink sink = new CollectingSink(false);
    private final AccessLog log = new AccessLog(sink, 1_000, PROPERTIES, () -> NOW);

    private static AccessLogProperties properties(Path file) {
        return new AccessLogProperties(true, file.toString(), 100, Set.of(), Set.of());
    }

    @AfterEach
    void close() {
        log.close();
        fixture.close();
    }

    @Test
    void writesEveryKnownFact() throws InterruptedException {
        HttpHeaders headers =
                new DefaultHttpHeaders().add("Host", "shop.example").add("User-Agent", "curl/8");

        fixture.refused(
                route(null, log),
                ObservedGateway.caller(headers, new ObservedGateway.Facts()),
                Duration.ofNanos(1_234_567));

        assertThat(sink.next())
                .isEqualTo("{\"timestamp\":\"2026-03-01T12:00:00.499Z\",\"method\":\"GET\",\"path\":\"/orders/7\","
                        + "\"host\":\"shop.example\",\"protocol\":\"HTTP/1.1\",\"door\":\"compiled\","
                        + "\"route\":\"orders-route\",\"backend\":\"orders\",\"priority\":\"normal\",\"status\":503,\"outcome\":\"bulkhead-full\","
                        + "\"client\":\"192.0.2.7\",\"user_agent\":\"curl/8\",\"request_id\":\"id-1\","
                        + "\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\",\"attempts\":0,\"queue_ms\":0.000,"
                        + "\"backend_ms\":0.000,\"total_ms\":1.234,\"bytes\":120}");
    }

    @Test
    void hasTheMembersAndTheFieldsOfRequestsThatAreConfigured() throws InterruptedException {
        AccessLogProperties properties = new AccessLogProperties(
                true,
                null,
                16,
                Set.of(LogField.CLIENT, LogField.USER_AGENT, LogField.BYTES),
                Set.of("X-Tenant", "Referer"));
        HttpHeaders headers = new DefaultHttpHeaders()
                .add("User-Agent", "curl/8")
                .add("x-tenant", "first\"")
                .add("X-Tenant", "second");

        try (AccessLog own = new AccessLog(sink, 1_000, properties, () -> NOW)) {
            fixture.refused(
                    route(null, own), ObservedGateway.caller(headers, new ObservedGateway.Facts()), Duration.ZERO);
            JsonNode line = json(sink.next());

            assertThat(line.path("header_x_tenant").asString()).isEqualTo("first\", second");
            assertThat(line.propertyNames())
                    .contains("timestamp", "status", "outcome", "request_id", "total_ms")
                    .doesNotContain("client", "user_agent", "bytes", "header_referer");
        }
    }

    @Test
    void leavesOutUnknownFacts() throws InterruptedException {
        ObservedGateway.Facts facts = new ObservedGateway.Facts();
        facts.trace = null;
        facts.address = "";

        fixture.refused(route(null, log), ObservedGateway.caller(new DefaultHttpHeaders(), facts), Duration.ZERO);

        assertThat(json(sink.next()).propertyNames())
                .containsExactly(
                        "timestamp",
                        "method",
                        "path",
                        "protocol",
                        "door",
                        "route",
                        "backend",
                        "priority",
                        "status",
                        "outcome",
                        "request_id",
                        "attempts",
                        "queue_ms",
                        "backend_ms",
                        "total_ms",
                        "bytes");
    }

    @Test
    void logsACallerWithoutRequestFacts() throws InterruptedException {
        fixture.refused(route(null, log), ObservedGateway.caller(new DefaultHttpHeaders(), null), Duration.ZERO);

        JsonNode line = json(sink.next());
        assertThat(line.get("method").stringValue()).isEqualTo("GET");
        assertThat(line.get("outcome").stringValue()).isEqualTo("bulkhead-full");
    }

    @Test
    void logsTheDetail() throws InterruptedException {
        HttpHeaders headers = new DefaultHttpHeaders().add("x-request-timeout", "so\"on");

        fixture.refused(route(null, log), ObservedGateway.caller(headers, null), Duration.ZERO);

        JsonNode line = json(sink.next());
        assertThat(line.get("outcome").stringValue()).isEqualTo("bad-request");
        assertThat(line.get("detail").stringValue()).contains("so\"on");
    }

    @Test
    void logsTheReasonOfAFallback() throws InterruptedException {
        Fallback fallback = new Fallback(
                new FallbackProperties(null, 200, "text/plain", "sorry", Map.of(), Set.of(Reason.BULKHEAD_FULL), 4));

        fixture.refused(route(fallback, log), ObservedGateway.caller(), Duration.ZERO)
                .flushed();

        JsonNode line = json(sink.next());
        assertThat(line.get("outcome").stringValue()).isEqualTo("fallback");
        assertThat(line.get("reason").stringValue()).isEqualTo("bulkhead-full");
        assertThat(line.get("status").intValue()).isEqualTo(200);
        assertThat(line.get("bytes").intValue()).isEqualTo(5);
    }

    @Test
    void doesNotLogTheQuery() throws InterruptedException {
        ObservedGateway.Facts facts = new ObservedGateway.Facts();
        facts.path = "/orders/7?token=secret";

        log.refused(Refusal.of(Reason.NO_ROUTE, null), facts, facts.traceId());

        assertThat(json(sink.next()).get("path").stringValue()).isEqualTo("/orders/7");
    }

    @Test
    void preventsForgedLines() throws InterruptedException {
        ObservedGateway.Facts facts = new ObservedGateway.Facts();
        facts.path = "/\r\n{\"outcome\":\"2xx\"}";
        facts.id = "\",\"outcome\":\"2xx\",\"x\":\"\u001b[2J\ud83d";

        log.refused(Refusal.of(Reason.BAD_REQUEST, "\"}\n{\"outcome\":\"2xx\"}"), facts, facts.traceId());
        log.refused(Refusal.of(Reason.NO_ROUTE, null), new ObservedGateway.Facts(), null);

        JsonNode first = json(sink.next());
        assertThat(first.get("outcome").stringValue()).isEqualTo("bad-request");
        assertThat(first.get("path").stringValue()).isEqualTo(facts.path);
        assertThat(first.get("request_id").stringValue()).isEqualTo(facts.id.replace('\ud83d', '\ufffd'));
        assertThat(json(sink.next()).get("outcome").stringValue()).isEqualTo("no-route");
    }

    @Test
    void limitsTheLengthOfALine() throws InterruptedException {
        ObservedGateway.Facts facts = new ObservedGateway.Facts();
        facts.path = "/" + "\u0001".repeat(100_000);
        facts.id = "\u0001".repeat(100_000);
        facts.address = "\u0001".repeat(100_000);
        facts.protocol = "\u0001".repeat(100_000);

        log.refused(Refusal.of(Reason.BAD_REQUEST, "\u0001".repeat(100_000)), facts, facts.traceId());

        assertThat(sink.next().length()).isLessThan(20_000);
    }

    @Test
    void logsARefusalWithoutARoute() throws InterruptedException {
        log.refused(Refusal.of(Reason.URI_TOO_LONG, "too long"), new ObservedGateway.Facts(), null);

        JsonNode line = json(sink.next());
        assertThat(line.get("timestamp").stringValue()).isEqualTo("2026-03-01T12:00:00.500Z");
        assertThat(line.get("status").intValue()).isEqualTo(414);
        assertThat(line.get("outcome").stringValue()).isEqualTo("uri-too-long");
        assertThat(line.get("detail").stringValue()).isEqualTo("too long");
        assertThat(line.has("route")).isFalse();
    }

    @Test
    void logsAnAnswerOnARouteWithoutAnExchange() throws InterruptedException {
        log.answered("redirect", 302, 1_500_000, new ObservedGateway.Facts(), null);

        JsonNode line = json(sink.next());
        assertThat(line.get("timestamp").stringValue()).isEqualTo("2026-03-01T12:00:00.499Z");
        assertThat(line.get("route").stringValue()).isEqualTo("redirect");
        assertThat(line.get("status").intValue()).isEqualTo(302);
        assertThat(line.get("outcome").stringValue()).isEqualTo("3xx");
        assertThat(line.get("total_ms").doubleValue()).isEqualTo(1.5);
        assertThat(line.get("request_id").stringValue()).isEqualTo("id-1");
    }

    @Test
    void logsTheFailureOfARoutesFilter() throws InterruptedException {
        ObservedGateway.Facts facts = new ObservedGateway.Facts() {
            @Override
            public HttpHeaders headers() {
                return new DefaultHttpHeaders().set("Host", "shop.example");
            }
        };

        log.failed("rewritten", Refusal.of(Reason.INTERNAL_ERROR, null), 1_500_000, facts, null);

        JsonNode line = json(sink.next());
        assertThat(line.get("route").stringValue()).isEqualTo("rewritten");
        assertThat(line.get("host").stringValue()).isEqualTo("shop.example");
        assertThat(line.get("outcome").stringValue()).isEqualTo("internal-error");
        assertThat(line.get("total_ms").doubleValue()).isEqualTo(1.5);
    }

    @Test
    void writesLinesInTheOrderInWhichRequestsEnd() throws InterruptedException {
        for (int i = 0; i < 500; i++) {
            ObservedGateway.Facts facts = new ObservedGateway.Facts();
            facts.id = "id-" + i;
            log.refused(Refusal.of(Reason.NO_ROUTE, null), facts, facts.traceId());
        }

        for (int i = 0; i < 500; i++) {
            assertThat(json(sink.next()).get("request_id").stringValue()).isEqualTo("id-" + i);
        }
        assertThat(log.dropped()).isZero();
    }

    @Test
    void dropsAndCountsLinesIfTheSinkIsStuck() throws InterruptedException {
        CollectingSink stuck = new CollectingSink(true);
        AccessLog full = new AccessLog(stuck, 16, PROPERTIES, () -> NOW);
        refuse(full, 1);
        stuck.entered.await();

        // The writer blocks on the first line; sixteen fill the queue; the other four are dropped at once.
        refuse(full, 20);

        assertThat(full.dropped()).isEqualTo(4);
        stuck.released.countDown();
        full.close();
        assertThat(stuck.lines).hasSize(17);
        assertThat(full.dropped()).isEqualTo(4);
    }

    @Test
    void countsLinesOfFailedWritesAndContinuesAfterwards() throws InterruptedException {
        sink.broken = true;
        refuse(log, 3);
        await().until(() -> log.dropped() >= 3);

        sink.broken = false;
        refuse(log, 1);

        assertThat(json(sink.next()).get("outcome").stringValue()).isEqualTo("no-route");
        assertThat(log.dropped()).isEqualTo(3);
    }

    @Test
    void writesQueuedLinesOnClose() throws InterruptedException {
        CollectingSink slow = new CollectingSink(true);
        AccessLog closing = new AccessLog(slow, 1_000, PROPERTIES, () -> NOW);
        refuse(closing, 1);
        slow.entered.await();
        refuse(closing, 600);
        slow.released.countDown();

        closing.close();

        assertThat(slow.lines).hasSize(601);
        assertThat(slow.closed).isTrue();
        refuse(closing, 1);
        assertThat(closing.dropped()).isEqualTo(1);
    }

    @Test
    void closesAlthoughTheSinkIsStuck() throws InterruptedException {
        CollectingSink stuck = new CollectingSink(true);
        AccessLog closing = new AccessLog(stuck, 16, PROPERTIES, () -> NOW);
        refuse(closing, 1);
        stuck.entered.await();

        closing.close();

        assertThat(stuck.closed).as("the sink is still blocked").isFalse();
        stuck.released.countDown();
    }

    @Test
    void endsTheExchangeIfItsFactsFail() throws InterruptedException {
        RequestFacts broken = new ObservedGateway.Facts() {
            @Override
            public String requestPath() {
                throw new IllegalStateException("released already");
            }
        };

        Exchange exchange = fixture.refused(
                route(null, log), ObservedGateway.caller(new DefaultHttpHeaders(), broken), Duration.ZERO);
        log.refused(Refusal.of(Reason.NO_ROUTE, null), broken, broken.traceId());
        log.answered("redirect", 302, 0, broken, broken.traceId());

        assertThat(exchange.record().reason()).isEqualTo(Reason.BULKHEAD_FULL);
        assertThat(log.dropped()).isEqualTo(3);
    }

    @Test
    void writesToTheConfiguredFile(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("access.log");
        try (AccessLog toFile = AccessLog.open(properties(file), () -> NOW)) {
            refuse(toFile, 2);
        }

        List<String> lines = Files.readAllLines(file);
        assertThat(lines).hasSize(2).allMatch(line -> json(line).get("status").intValue() == 404);
    }

    @Test
    void createsANewFileAfterARotation(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("access.log");
        try (AccessLog toFile = AccessLog.open(properties(file), () -> NOW)) {
            Files.move(file, directory.resolve("access.log.1"));
            await().until(() -> Files.exists(file));
            refuse(toFile, 1);
        }

        assertThat(Files.readAllLines(file)).hasSize(1);
    }

    @Test
    void failsToOpenAFileThatCannotBeWritten(@TempDir Path directory) {
        AccessLogProperties properties = properties(directory);

        assertThatIOException().isThrownBy(() -> AccessLog.open(properties, () -> NOW));
    }

    @Test
    void allocatesLittleMoreThanTheLine() {
        Exchange exchange = fixture.refused(route(null, RouteObserver.NONE), ObservedGateway.caller(), Duration.ZERO);
        int length = log.line(exchange.record()).length;

        // The caller of this test is a dynamic proxy, which allocates about as much as a line.
        long ofTheProxy = Allocation.bytesPer(() -> readFacts(exchange.record().caller()));
        assertThat(Allocation.bytesPer(() -> log.line(exchange.record())) - ofTheProxy)
                .isLessThan(length + 64);
    }

    private static void readFacts(Caller caller) {
        RequestFacts facts = (RequestFacts) caller;
        caller.received().headers();
        facts.requestMethod();
        facts.requestPath();
        facts.protocol();
        facts.door();
        facts.callerAddress();
        facts.requestId();
        facts.traceId();
    }

    private Route route(@Nullable Fallback fallback, RouteObserver observer) {
        return fixture.route(backend, fallback, observer);
    }

    private static void refuse(AccessLog log, int times) {
        for (int i = 0; i < times; i++) {
            log.refused(Refusal.of(Reason.NO_ROUTE, null), new ObservedGateway.Facts(), null);
        }
    }

    private static JsonNode json(String line) {
        return JsonMapper.shared().readTree(line);
    }
}
