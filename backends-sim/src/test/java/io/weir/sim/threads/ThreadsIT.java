package io.weir.sim.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.sim.Simulator;
import io.weir.sim.stack.Stack;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ThreadsIT {

    private static final int THREADS = 3;
    private static final List<String> OTHER_WAYS = List.of("deferred", "completable", "virtual");
    private static Simulator sim;

    @BeforeAll
    static void started() {
        // Few servlet threads, so that the test can occupy all; long work, so that a busy machine observes
        // it.
        sim = Simulator.start(
                Stack.MVC_JDBC,
                "--server.tomcat.threads.max=" + THREADS,
                "--server.tomcat.threads.min-spare=" + THREADS,
                "--sim.pool.workers=2",
                "--sim.pool.queue-capacity=-1",
                "--sim.pool.service-time=1s",
                "--sim.job.time=5s");
    }

    @AfterAll
    static void stopped() {
        sim.close();
    }

    private static int busy() {
        return sim.tomcatThreads().getActiveCount();
    }

    @Test
    void blockHoldsItsServletThreadAndDelaysOtherRequests() throws Exception {
        List<CompletableFuture<HttpResponse<String>>> jobs = send("/block", THREADS);
        await().untilAsserted(() -> assertThat(busy()).isEqualTo(THREADS));

        CompletableFuture<HttpResponse<String>> other = sim.getAsync("/delay?ms=0");
        CompletableFuture.anyOf(jobs.toArray(CompletableFuture[]::new)).join();
        other.join();

        // It had to wait for one of the blocking jobs.
        assertThat(jobs).anyMatch(CompletableFuture::isDone);
        jobs.forEach(job -> {
            String body = job.join().body();
            assertThat(field(body, "takenBy")).isEqualTo(field(body, "doneBy")).contains("exec");
        });
    }

    @Test
    void otherVariantsReleaseTheirServletThread() throws Exception {
        Map<String, List<CompletableFuture<HttpResponse<String>>>> jobs = new LinkedHashMap<>();
        // All at once: the jobs take seconds.
        for (String way : OTHER_WAYS) {
            jobs.put(way, send("/" + way, 2 * THREADS));
        }
        await().untilAsserted(() ->
                assertThat(sim.meter("sim_requests_in_flight")).isEqualTo(OTHER_WAYS.size() * 2 * THREADS));

        assertThat(sim.get("/delay?ms=0").statusCode()).isEqualTo(200);
        // The thread of the last answer may not have returned to the pool yet.
        await().untilAsserted(() -> assertThat(busy()).isZero());
        assertThat(jobs.values()).allSatisfy(ofAWay -> assertThat(ofAWay).noneMatch(CompletableFuture::isDone));
        jobs.forEach((way, ofAWay) -> ofAWay.forEach(job -> {
            String body = job.join().body();
            assertThat(body).contains("\"way\":\"" + way + "\"", "\"ms\":5000");
            assertThat(field(body, "takenBy")).contains("exec");
            assertThat(field(body, "doneBy")).startsWith(way.equals("virtual") ? "virtual-" : "job-");
        }));
    }

    @Test
    void servesRequestsWhoseCallersHaveLeft() throws Exception {
        double before = sim.meter("sim_pool_retired_total");
        List<Socket> callers = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            callers.add(sim.socket("/work"));
        }
        await().untilAsserted(
                        () -> assertThat(sim.meter("sim_pool_queue_length")).isGreaterThan(4));
        for (Socket caller : callers) {
            caller.close();
        }

        await().untilAsserted(
                        () -> assertThat(sim.meter("sim_pool_retired_total")).isEqualTo(before + 12));
        assertThat(sim.meter("sim_pool_rejected_total")).isZero();
    }

    /** {@link WorkPoolTest} has each policy without a server. */
    @Test
    void fullPoolRejects() throws Exception {
        assertFullPoolFollowsItsPolicy("reject", Stack.MVC_JDBC);
    }

    @ParameterizedTest
    @CsvSource({"discard-oldest, WEBFLUX_R2DBC", "caller-runs, MVC_JDBC", "caller-runs, WEBFLUX_R2DBC"})
    @Tag("full")
    void fullPoolFollowsItsPolicy(String policy, Stack stack) throws Exception {
        assertFullPoolFollowsItsPolicy(policy, stack);
    }

    private static void assertFullPoolFollowsItsPolicy(String policy, Stack stack) throws Exception {
        try (Simulator full = Simulator.start(
                stack,
                "--sim.pool.workers=1",
                "--sim.pool.queue-capacity=1",
                "--sim.pool.service-time=2s",
                "--sim.pool.policy=" + policy)) {
            List<CompletableFuture<HttpResponse<String>>> sent = new ArrayList<>();
            for (int i = 1; i <= 3; i++) {
                sent.add(full.getAsync("/work"));
                int requests = i;
                await().pollInterval(Duration.ofMillis(5))
                        .untilAsserted(() ->
                                assertThat(arrivals(full.bean(WorkPool.class))).isGreaterThanOrEqualTo(requests));
            }
            List<HttpResponse<String>> answers =
                    sent.stream().map(CompletableFuture::join).toList();
            List<Integer> statuses =
                    answers.stream().map(HttpResponse::statusCode).toList();

            switch (policy) {
                case "reject" -> assertThat(statuses).containsExactly(200, 200, 503);
                case "discard-oldest" -> assertThat(statuses).containsExactly(200, 503, 200);
                default -> {
                    assertThat(statuses).containsExactly(200, 200, 200);
                    assertThat(full.meter("sim_pool_caller_runs_total")).isEqualTo(1);
                }
            }
            assertThat(answers).filteredOn(answer -> answer.statusCode() == 503).allSatisfy(answer -> {
                assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
                assertThat(answer.headers().firstValue("Retry-After")).hasValue("1");
            });
        }
    }

    /** Requests that have arrived at the pool. */
    private static long arrivals(WorkPool pool) {
        return pool.getBusyWorkers()
                + pool.getQueueLength()
                + pool.getRejectedRequests()
                + pool.getDiscardedRequests()
                + pool.getRequestsRunByCaller();
    }

    private static List<CompletableFuture<HttpResponse<String>>> send(String path, int requests) {
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            answers.add(sim.getAsync(path));
        }
        return answers;
    }

    private static String field(String body, String name) {
        int start = body.indexOf("\"" + name + "\":\"") + name.length() + 4;
        return body.substring(start, body.indexOf('"', start));
    }
}
