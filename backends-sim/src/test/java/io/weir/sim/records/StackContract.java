package io.weir.sim.records;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.sim.Simulator;
import io.weir.sim.stack.Stack;
import java.net.http.HttpResponse;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The contract that every stack fulfils towards callers. */
abstract class StackContract {

    /** The first answer to each request; the answers of the other stacks must equal it. */
    private static final Map<String, String> answers = new HashMap<>();

    private final Simulator sim;

    StackContract(Stack stack) {
        this.sim = Simulator.of(stack);
    }

    @Test
    void readsTheFirstTenRowsAsJson() throws Exception {
        HttpResponse<String> answer = sim.get("/records");

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/json");
        assertThat(answer.body())
                .startsWith(
                        "[{\"id\":1,\"name\":\"record 1\",\"amount\":37,\"createdAt\":\"2026-01-01T01:00:00Z\"},{\"id\":2,")
                .endsWith("{\"id\":10,\"name\":\"record 10\",\"amount\":67,\"createdAt\":\"2026-01-01T10:00:00Z\"}]");
        assertThat(Pattern.compile("\"id\":").matcher(answer.body()).results().count())
                .isEqualTo(10);
        assertSameInEveryStack("ten", answer);
    }

    @Test
    void insertsARowIntoTheDatabase() throws Exception {
        HttpResponse<String> answer = sim.send("POST", "/records", "{\"name\":\"written\",\"amount\":42}");

        assertThat(answer.statusCode()).isEqualTo(201);
        Matcher written = Pattern.compile(
                        "\\{\"id\":(\\d+),\"name\":\"written\",\"amount\":42,\"createdAt\":\"[0-9T:.-]+Z\"}")
                .matcher(answer.body());
        assertThat(written.matches()).as(answer.body()).isTrue();
        assertThat(sim.count(
                        "select amount from records where id = ? and name = 'written'",
                        Long.parseLong(written.group(1))))
                .isEqualTo(42);
    }

    @Test
    void updatesARow() throws Exception {
        HttpResponse<String> answer = sim.send("PUT", "/records/60", "{\"name\":\"changed\",\"amount\":-1}");

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.body())
                .isEqualTo("{\"id\":60,\"name\":\"changed\",\"amount\":-1,\"createdAt\":\"2026-01-03T12:00:00Z\"}");
        assertThat(sim.count("select amount from records where id = 60")).isEqualTo(-1);
    }

    @Test
    void slowQuerySleepsInTheDatabase() throws Exception {
        HttpResponse<String> answer = callUntilSeen(
                        () -> sleepingInTheDatabase() == 1, () -> List.of(sim.getAsync("/records/slow?ms=500")))
                .getFirst();

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.body()).isEqualTo("{\"ms\":500}");
        assertThat(sleepingInTheDatabase()).isZero();
    }

    @Test
    void delayUsesNoDatabase() throws Exception {
        long startNanos = System.nanoTime();
        CompletableFuture<HttpResponse<String>> slow = sim.getAsync("/delay?ms=300");

        assertThat(sleepingInTheDatabase()).isZero();
        assertThat(slow.join().body()).isEqualTo("{\"ms\":300}");
        assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(300_000_000L);
    }

    @Test
    void refusesInvalidInputWithTheSameProblemInEveryStack() throws Exception {
        assertSameProblemInEveryStack("negative", 400, sim.get("/records/slow?ms=-1"), "ms: -1 (expected: ");
        assertSameProblemInEveryStack("no number", 400, sim.get("/delay?ms=soon"), "ms: soon (expected: ");
        assertSameProblemInEveryStack(
                "no JSON", 400, sim.send("POST", "/records", "{\"name\":"), "body: not readable (expected: ");
        assertSameProblemInEveryStack(
                "no name", 400, sim.send("POST", "/records", "{\"amount\":1}"), "name: null (expected: ");
        assertSameProblemInEveryStack(
                "no amount", 400, sim.send("POST", "/records", "{\"name\":\"x\"}"), "amount: missing (expected: ");
        assertSameProblemInEveryStack(
                "no row",
                404,
                sim.send("PUT", "/records/987654321", "{\"name\":\"x\",\"amount\":1}"),
                "id: 987654321 (expected: ");
        assertThat(sim.get("/nothing/here").statusCode()).isEqualTo(404);
    }

    @Test
    void showsThreadsPoolsRequestsInFlightAndFaults() throws Exception {
        sim.get("/records");
        boolean jdbc = sim.stack().driverType() == Stack.DriverType.JDBC;

        assertThat(sim.meter("jvm_threads_live_threads")).isPositive();
        assertThat(sim.meter(jdbc ? "hikaricp_connections_max" : "r2dbc_pool_max_allocated_connections"))
                .isEqualTo(8);
        assertThat(sim.meter("sim_faults_on", "kind=\"hang\"")).isZero();
        if (sim.stack().serverType() == Stack.ServerType.SERVLET && !sim.stack().virtualThreads()) {
            assertThat(sim.prometheus())
                    .containsPattern("tomcat_threads_config_max_threads\\{name=\"http-nio-auto-\\d+\"} 200\\.0")
                    .contains("tomcat_threads_busy_threads");
        }
        if (sim.stack() == Stack.WEBFLUX_JDBC) {
            assertThat(sim.meter("executor_pool_max_threads", "name=\"offload\""))
                    .isEqualTo(100);
        }
        callUntilSeen(
                () -> sim.meter("sim_requests_in_flight") == 2,
                () -> List.of(sim.getAsync("/delay?ms=400"), sim.getAsync("/delay?ms=400")));
        await().untilAsserted(
                        () -> assertThat(sim.meter("sim_requests_in_flight")).isZero());
    }

    /**
     * Returns the answers. Repeats the calls if a pause of the machine outlasted them, so that the condition
     * was never seen.
     */
    private static List<HttpResponse<String>> callUntilSeen(
            Callable<Boolean> sight, Supplier<List<CompletableFuture<HttpResponse<String>>>> ask) {
        AtomicBoolean seen = new AtomicBoolean();
        return await().until(
                        () -> {
                            List<CompletableFuture<HttpResponse<String>>> asked = ask.get();
                            while (!seen.get() && !asked.stream().allMatch(CompletableFuture::isDone)) {
                                seen.set(sight.call());
                                // Between two looks.
                                Thread.sleep(20);
                            }
                            return asked.stream().map(CompletableFuture::join).toList();
                        },
                        _ -> seen.get());
    }

    private long sleepingInTheDatabase() throws SQLException {
        return sim.count(
                "select count(*) from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'"
                        + " and application_name = ?",
                "weir-sim-" + sim.stack().id());
    }

    private static void assertSameProblemInEveryStack(
            String question, int status, HttpResponse<String> answer, String detail) {
        assertThat(answer.statusCode()).isEqualTo(status);
        assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
        assertThat(answer.body()).contains("\"detail\":\"" + detail);
        assertSameInEveryStack(question, answer);
    }

    private static void assertSameInEveryStack(String question, HttpResponse<String> answer) {
        assertThat(answers.computeIfAbsent(question, first -> answer.body())).isEqualTo(answer.body());
    }
}
