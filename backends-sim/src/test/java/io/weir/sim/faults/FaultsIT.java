package io.weir.sim.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.weir.sim.Simulator;
import io.weir.sim.stack.Stack;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every fault as a caller sees it, with each server and each driver. A fault belongs to one of them, so the
 * other stacks, which combine them in another way, have no fault of their own; {@code JarsIT} sends each of
 * them one.
 */
@ParameterizedClass(name = "{0}")
@MethodSource("io.weir.sim.Simulator#stacksOfEachKind")
class FaultsIT {

    private final Simulator sim;

    FaultsIT(Stack stack) {
        this.sim = Simulator.of(stack);
    }

    @AfterEach
    void healed() throws Exception {
        sim.heal();
        await().untilAsserted(
                        () -> assertThat(sim.meter("sim_requests_in_flight")).isZero());
    }

    @Test
    void latencyDelaysTheAnswer() throws Exception {
        sim.fault("{\"kind\":\"latency\",\"distribution\":\"uniform\",\"min\":\"300ms\",\"max\":\"400ms\"}");

        assertThat(durationOf("/records")).isGreaterThanOrEqualTo(Duration.ofMillis(300));
        assertThat(hits("latency")).isPositive();
        sim.heal();
        await().untilAsserted(() -> assertThat(durationOf("/records")).isLessThan(Duration.ofMillis(300)));
    }

    @Test
    void slowStartDelayShrinks() throws Exception {
        sim.fault("{\"kind\":\"slow-start\",\"delay\":\"1s\",\"ramp\":\"4s\"}");

        Duration first = durationOf("/delay?ms=0");
        assertThat(first).isGreaterThan(Duration.ofMillis(300));
        await().untilAsserted(() -> assertThat(durationOf("/delay?ms=0")).isLessThan(first.dividedBy(2)));
    }

    @Test
    void errorsFollowTheirSharesByStatusAndRepeatWithTheSameSeed() throws Exception {
        String document = "{\"seed\":7,\"script\":[{\"kind\":\"errors\",\"shares\":{\"503\":0.3,\"500\":0.2}}]}";
        sim.fault(document);
        List<Integer> first = statuses(100);
        sim.fault(document);

        assertThat(statuses(100)).isEqualTo(first);
        assertThat(first.stream().filter(status -> status == 503).count()).isBetween(15L, 45L);
        assertThat(first.stream().filter(status -> status == 500).count()).isBetween(8L, 35L);
        assertThat(first.stream().filter(status -> status == 200).count()).isBetween(35L, 65L);
    }

    @Test
    void errorStatusMayHaveNoReasonPhrase() throws Exception {
        sim.fault("{\"kind\":\"errors\",\"shares\":{\"599\":1}}");

        assertThat(sim.get("/records").statusCode()).isEqualTo(599);
        assertThat(sim.get("/records").body()).contains("\"status\":599");
    }

    @Test
    void hangHoldsRequestsUntilItHeals() throws Exception {
        sim.fault("{\"kind\":\"hang\"}");
        List<CompletableFuture<HttpResponse<String>>> held =
                IntStream.range(0, 12).mapToObj(_ -> sim.getAsync("/records")).toList();

        await().untilAsserted(
                        () -> assertThat(sim.meter("sim_requests_in_flight")).isEqualTo(12));
        assertThat(sim.manage("GET", "/actuator/health", "").body()).contains("\"UP\"");
        assertThat(sim.manage("GET", "/faults", "").body()).contains("\"state\":\"on\"", "\"hits\":12");
        assertThat(sim.meter("sim_faults_on", "kind=\"hang\"")).isEqualTo(1);
        assertThat(held).noneMatch(CompletableFuture::isDone);

        sim.heal();
        assertThat(held)
                .allSatisfy(answer -> assertThat(answer.join().statusCode()).isEqualTo(200));
    }

    @Test
    void hangOnOnePathDoesNotAffectOthers() throws Exception {
        sim.fault("{\"kind\":\"hang\",\"path\":\"/records/**\"}");
        CompletableFuture<HttpResponse<String>> held = sim.getAsync("/records");

        assertThat(sim.get("/delay?ms=1").statusCode()).isEqualTo(200);
        assertThat(held.isDone()).isFalse();

        sim.heal();
        assertThat(held.join().statusCode()).isEqualTo(200);
    }

    @Test
    void hangHealsByItself() throws Exception {
        long startNanos = System.nanoTime();
        sim.fault("{\"kind\":\"hang\",\"duration\":\"500ms\"}");

        assertThat(sim.get("/records").statusCode()).isEqualTo(200);
        assertThat(System.nanoTime() - startNanos)
                .isGreaterThan(Duration.ofMillis(400).toNanos());
        assertThat(sim.manage("GET", "/faults", "").body()).isEqualTo("{\"faults\":[]}");
    }

    @Test
    void resetFaultSendsRst() throws Exception {
        sim.fault("{\"kind\":\"reset\"}");

        try (Socket socket = sim.socket("/records")) {
            // After FIN a read would return -1.
            assertThatThrownBy(() -> socket.getInputStream().read())
                    .isInstanceOf(SocketException.class)
                    .hasMessageContaining("reset");
        }
    }

    @Test
    void truncatedBodyIsShorterThanAnnouncedAndCloses() throws Exception {
        String whole = sim.get("/records").body();
        sim.fault("{\"kind\":\"truncate\",\"share\":0.25}");

        try (Socket socket = sim.socket("/records")) {
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            Matcher length = Pattern.compile("(?i)content-length: (\\d+)").matcher(answer);
            assertThat(length.find()).as(answer).isTrue();
            assertThat(Integer.parseInt(length.group(1))).isEqualTo(whole.length());
            assertThat(answer.substring(answer.indexOf("\r\n\r\n") + 4))
                    .isEqualTo(whole.substring(0, whole.length() / 4));
        }
        try (Socket socket = sim.socket("/delay?ms=1")) {
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
                    .endsWith("\r\n\r\n{\"");
        }
    }

    @Test
    void trickledBodyArrivesInParts() throws Exception {
        sim.fault("{\"kind\":\"trickle\",\"bytes\":3,\"interval\":\"1s\"}");

        try (Socket socket = sim.socket("/delay?ms=10")) {
            InputStream in = socket.getInputStream();
            readHead(in);
            List<Long> arrivals = new ArrayList<>();
            StringBuilder body = new StringBuilder();
            while (body.length() < "{\"ms\":10}".length()) {
                byte[] drop = in.readNBytes(3);
                arrivals.add(System.nanoTime());
                body.append(new String(drop, StandardCharsets.US_ASCII));
            }
            assertThat(body).hasToString("{\"ms\":10}");
            assertThat(arrivals).hasSize(3);
            assertThat(arrivals.getLast() - arrivals.getFirst())
                    .as("two intervals, if the first drop was not read late")
                    .isGreaterThan(Duration.ofSeconds(1).toNanos());
        }
    }

    @Test
    void cpuFaultConsumesProcessorTime() throws Exception {
        sim.fault("{\"kind\":\"cpu\",\"burn\":\"500ms\"}");

        // Repeated, since other processes may use the core for most of the time.
        await().untilAsserted(() -> {
            double before = sim.meter("process_cpu_time_ns_total");
            assertThat(durationOf("/delay?ms=0")).isGreaterThanOrEqualTo(Duration.ofMillis(500));
            assertThat(sim.meter("process_cpu_time_ns_total") - before).isGreaterThan(100e6);
        });
    }

    @Test
    void poolFaultHoldsRealConnections() throws Exception {
        sim.fault("{\"kind\":\"pool\"}");

        await().untilAsserted(() ->
                assertThat(sim.manage("GET", "/faults", "").body()).contains("\"held\":8"));
        assertThat(sessions("true")).isEqualTo(8);
        HttpResponse<String> answer = sim.get("/records");
        assertThat(answer.statusCode()).isEqualTo(503);
        assertThat(answer.body()).contains("no connection to the database in time");
        assertThat(sim.get("/delay?ms=1").statusCode()).isEqualTo(200);

        sim.heal();
        assertThat(sim.get("/records").statusCode()).isEqualTo(200);
    }

    @Test
    void poolFaultLeavesTheOtherConnectionsUsable() throws Exception {
        sim.fault("{\"kind\":\"pool\",\"connections\":7}");

        await().untilAsserted(() ->
                assertThat(sim.manage("GET", "/faults", "").body()).contains("\"held\":7"));
        assertThat(sim.get("/records").statusCode()).isEqualTo(200);
    }

    @Test
    void lockFaultMakesOtherSessionsWaitForTheRow() throws Exception {
        sim.fault("{\"kind\":\"lock\",\"row\":70}");
        await().untilAsserted(() ->
                assertThat(sim.manage("GET", "/faults", "").body()).contains("\"held\":1"));

        CompletableFuture<HttpResponse<String>> waiting =
                sim.sendAsync("PUT", "/records/70", "{\"name\":\"locked\",\"amount\":7}");
        await().untilAsserted(() -> assertThat(sessions("wait_event_type = 'Lock' and query like 'update%'"))
                .isEqualTo(1));
        assertThat(sim.send("PUT", "/records/71", "{\"name\":\"free\",\"amount\":7}")
                        .statusCode())
                .isEqualTo(200);
        assertThat(sim.get("/records").statusCode()).isEqualTo(200);
        assertThat(waiting.isDone()).isFalse();

        sim.heal();
        assertThat(waiting.join().statusCode()).isEqualTo(200);
        // The session releases the row shortly before it ends.
        await().untilAsserted(() -> assertThat(sim.count(
                        "select count(*) from pg_stat_activity where application_name = 'weir-sim-fault-lock'"))
                .isZero());
    }

    @Test
    void lockOfAMissingRowReportsFailure() throws Exception {
        sim.fault("{\"kind\":\"lock\",\"row\":123456789}");

        await().untilAsserted(() -> assertThat(sim.manage("GET", "/faults", "").body())
                .contains("\"state\":\"failed\"", "no row 123456789"));
    }

    @Test
    void databaseFaultWithAPathActsFromTheFirstRequestOnThatPath() throws Exception {
        sim.fault("{\"kind\":\"pool\",\"path\":\"/delay\"}");

        assertThat(sim.get("/records").statusCode()).isEqualTo(200);
        sim.get("/delay?ms=1");
        await().untilAsserted(() ->
                assertThat(sim.manage("GET", "/faults", "").body()).contains("\"held\":8"));
    }

    @Test
    void scriptStartsAndHealsFaultsOnTime() throws Exception {
        HttpResponse<String> posted = sim.manage("POST", "/faults", """
                {"script":[
                  {"kind":"errors","shares":{"500":1},"duration":"1s"},
                  {"kind":"errors","shares":{"502":1},"after":"1s","duration":"2s"}
                ]}""");

        assertThat(posted.body()).contains("\"state\":\"on\"", "\"state\":\"waiting\"", "\"startsIn\"", "\"healsIn\"");
        assertThat(sim.get("/delay?ms=0").statusCode()).isEqualTo(500);
        await().pollInterval(Duration.ofMillis(20))
                .untilAsserted(
                        () -> assertThat(sim.get("/delay?ms=0").statusCode()).isEqualTo(502));
        await().untilAsserted(
                        () -> assertThat(sim.get("/delay?ms=0").statusCode()).isEqualTo(200));
        assertThat(sim.manage("GET", "/faults", "").body()).isEqualTo("{\"faults\":[]}");
    }

    @Test
    void probabilitySparesTheOtherRequests() throws Exception {
        sim.fault("{\"seed\":3,\"script\":[{\"kind\":\"errors\",\"shares\":{\"500\":1},\"probability\":0.5}]}");

        assertThat(statuses(60).stream().filter(status -> status == 500).count())
                .isBetween(15L, 45L);
    }

    @Test
    void refusesInvalidDocumentByItsFieldAndChangesNothing() throws Exception {
        sim.fault("{\"kind\":\"errors\",\"shares\":{\"500\":1}}");

        HttpResponse<String> refused = sim.manage(
                "PUT",
                "/faults",
                "{\"script\":[{\"kind\":\"hang\"},{\"kind\":\"latency\",\"delay\":\"1s\",\"probability\":2}]}");
        assertThat(refused.statusCode()).isEqualTo(400);
        assertThat(refused.headers().firstValue("Content-Type")).hasValue("application/problem+json");
        assertThat(refused.body())
                .contains("\"field\":\"script[1].probability\"", "script[1].probability: 2.0 (expected: ");
        assertThat(sim.get("/delay?ms=0").statusCode()).isEqualTo(500);
    }

    @Test
    void servesFaultsOnlyOnTheManagementPortAndRefusesOtherMethods() throws Exception {
        assertThat(sim.get("/faults").statusCode()).isEqualTo(404);
        HttpResponse<String> refused = sim.manage("PATCH", "/faults", "{}");
        assertThat(refused.statusCode()).isEqualTo(405);
        assertThat(refused.headers().firstValue("Allow")).hasValue("GET, PUT, POST, DELETE");
        assertThat(sim.manage("PUT", "/faults", " ".repeat(70_000)).statusCode())
                .isEqualTo(413);
    }

    private Duration durationOf(String path) throws Exception {
        long startNanos = System.nanoTime();
        assertThat(sim.get(path).statusCode()).isEqualTo(200);
        return Duration.ofNanos(System.nanoTime() - startNanos);
    }

    private List<Integer> statuses(int requests) throws Exception {
        List<Integer> statuses = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            statuses.add(sim.get("/delay?ms=0").statusCode());
        }
        return statuses;
    }

    private double hits(String kind) throws Exception {
        return sim.meter("sim_faults_hits_total", "kind=\"" + kind + "\"");
    }

    /** Counts the service's sessions in the database. */
    private long sessions(String condition) throws SQLException {
        return sim.count(
                "select count(*) from pg_stat_activity where application_name = ? and " + condition,
                "weir-sim-" + sim.stack().id());
    }

    private static void readHead(InputStream in) throws Exception {
        StringBuilder head = new StringBuilder();
        while (!head.toString().endsWith("\r\n\r\n")) {
            head.append((char) in.read());
        }
    }
}
