package io.weir.sim.connections;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.sim.Simulator;
import io.weir.sim.stack.Stack;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Forty virtual threads use a pool of four connections for 300 ms each: three seconds of work with a timeout
 * of 1.5 s.
 */
class ConnectionsIT {

    private static final int REQUESTS = 40;
    private static Simulator sim;

    @BeforeAll
    static void started() throws Exception {
        sim = Simulator.start(
                Stack.MVC_JDBC_VIRTUAL,
                "--sim.connections.pool-size=4",
                "--sim.connections.acquire-timeout=1500ms",
                "--sim.connections.hold=300ms");
        // The first request opens the pool.
        assertThat(sim.get("/connections").statusCode()).isEqualTo(200);
    }

    @AfterAll
    static void stopped() {
        sim.close();
    }

    private static List<HttpResponse<String>> send(String query, int requests) {
        List<CompletableFuture<HttpResponse<String>>> sent = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            sent.add(sim.getAsync("/connections?" + query));
        }
        return sent.stream().map(CompletableFuture::join).toList();
    }

    private static long count(List<HttpResponse<String>> answers, int status) {
        return answers.stream().filter(answer -> answer.statusCode() == status).count();
    }

    private static double deadlocks() throws Exception {
        return sim.meter("sim_connections_deadlocks_total");
    }

    @Test
    void unlimitedVirtualThreadsTimeOutAtASmallPool() throws Exception {
        double before = deadlocks();
        List<HttpResponse<String>> answers = send("guard=none&acquisition=single", REQUESTS);

        assertThat(count(answers, 503)).isGreaterThan(REQUESTS / 4);
        assertThat(count(answers, 200)).isGreaterThanOrEqualTo(4);
        assertThat(answers.stream().filter(answer -> answer.statusCode() == 503))
                .allSatisfy(
                        answer -> assertThat(answer.body()).contains("none of 4 connections was free within 1500 ms"));
        assertThat(deadlocks()).isEqualTo(before);
    }

    @Test
    void semaphorePreventsTimeouts() {
        assertThat(count(send("guard=semaphore&acquisition=single", REQUESTS), 200))
                .isEqualTo(REQUESTS);
    }

    @Test
    void detectsTheDeadlockOfNestedAcquisitionBehindTheSemaphore() throws Exception {
        double before = deadlocks();
        List<HttpResponse<String>> answers = send("guard=semaphore&acquisition=nested", 4);

        assertThat(deadlocks()).isGreaterThan(before);
        assertThat(answers)
                .anySatisfy(answer -> assertThat(answer.body())
                        .contains("\"title\":\"Deadlock\"", "all 4 connections are held by requests that wait"));
        assertThat(sim.meter("sim_connections_deadlocked")).isZero();
        assertThat(sim.meter("hikaricp_connections_active", "pool=\"small\"")).isZero();
    }

    @Test
    void singleConnectionPerRequestAvoidsTheDeadlock() throws Exception {
        double before = deadlocks();

        assertThat(count(send("guard=semaphore&acquisition=once", REQUESTS), 200))
                .isEqualTo(REQUESTS);
        assertThat(deadlocks()).isEqualTo(before);
    }

    @Test
    void refusesUnknownParameterValues() throws Exception {
        assertThat(sim.get("/connections?guard=dog").body())
                .contains("guard: dog (expected: one of [none, semaphore])");
        assertThat(sim.get("/connections?acquisition=twice").statusCode()).isEqualTo(400);
    }
}
