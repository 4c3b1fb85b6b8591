package io.weir.sim.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.sim.problem.ProblemException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class WorkPoolTest {

    /** A service time in which a test submits all its requests. */
    private static final Duration LONG = Duration.ofMillis(400);

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final List<WorkPool> pools = new ArrayList<>();

    private WorkPool pool(int workers, int queue, QueuePolicy policy, Duration serviceTime) {
        WorkPool pool = new WorkPool(
                new WorkPoolProperties(workers, queue, policy, serviceTime, 0.02, 2, Duration.ofSeconds(60)), meters);
        pools.add(pool);
        return pool;
    }

    @AfterEach
    void stopped() {
        pools.forEach(WorkPool::close);
    }

    private static void assertRefused(CompletableFuture<WorkPool.WorkAnswer> answer, String why) {
        assertThatThrownBy(answer::join)
                .hasCauseInstanceOf(ProblemException.class)
                .hasMessageContaining(why);
    }

    @Test
    void rejectRefusesTheNewestWhenFull() {
        WorkPool pool = pool(1, 2, QueuePolicy.REJECT, LONG);
        List<CompletableFuture<WorkPool.WorkAnswer>> answers = submit(pool, 4);

        assertRefused(answers.getLast(), "every worker is busy and 2 requests wait");
        answers.subList(0, 3)
                .forEach(answer -> assertThat(answer.join().serviceMs()).isGreaterThanOrEqualTo(LONG.toMillis() - 1));
        assertThat(pool.getRejectedRequests()).isEqualTo(1);
        assertThat(pool.getRetiredRequests()).isEqualTo(3);
    }

    @Test
    void discardOldestRefusesTheOldestWaitingRequest() {
        WorkPool pool = pool(1, 2, QueuePolicy.DISCARD_OLDEST, LONG);
        List<CompletableFuture<WorkPool.WorkAnswer>> answers = submit(pool, 5);

        // The first is in work, the second and third waited, the fourth and fifth took their places.
        assertRefused(answers.get(1), "a newer request took the place");
        assertRefused(answers.get(2), "a newer request took the place");
        assertThat(answers.get(0).join().queuedMs())
                .isLessThan(answers.get(3).join().queuedMs());
        answers.get(4).join();
        assertThat(pool.getDiscardedRequests()).isEqualTo(2);
        assertThat(pool.getRejectedRequests()).isZero();
    }

    @Test
    void callerRunsBlocksTheCallerAndRefusesNoRequest() {
        WorkPool pool = pool(1, 1, QueuePolicy.CALLER_RUNS, LONG);
        List<CompletableFuture<WorkPool.WorkAnswer>> answers = submit(pool, 2);

        long startNanos = System.nanoTime();
        CompletableFuture<WorkPool.WorkAnswer> ranHere = pool.submit();
        assertThat(System.nanoTime() - startNanos)
                .isGreaterThanOrEqualTo(LONG.minusMillis(1).toNanos());
        assertThat(ranHere).isCompleted();
        answers.forEach(CompletableFuture::join);
        assertThat(pool.getRequestsRunByCaller()).isEqualTo(1);
        assertThat(pool.getRetiredRequests()).isEqualTo(3);
    }

    @Test
    void supportsQueuesWithoutCapacityAndWithoutBound() {
        WorkPool none = pool(2, 0, QueuePolicy.REJECT, LONG);
        List<CompletableFuture<WorkPool.WorkAnswer>> answers = submit(none, 3);
        assertRefused(answers.get(2), "0 requests wait");

        WorkPool unbounded = pool(1, WorkPoolProperties.UNBOUNDED, QueuePolicy.REJECT, Duration.ofSeconds(20));
        submit(unbounded, 5_001);
        await().untilAsserted(() -> assertThat(unbounded.getBusyWorkers()).isEqualTo(1));
        assertThat(unbounded.getQueueLength()).isEqualTo(5_000);
        assertThat(unbounded.getRejectedRequests()).isZero();
    }

    @Test
    void servesRequestsWhoseCallersHaveLeft() {
        WorkPool pool = pool(1, 10, QueuePolicy.REJECT, Duration.ofMillis(30));
        List<CompletableFuture<WorkPool.WorkAnswer>> answers = submit(pool, 5);

        answers.forEach(answer -> answer.cancel(true));

        await().untilAsserted(() -> assertThat(pool.getRetiredRequests()).isEqualTo(5));
    }

    /** {@link WorkPoolStatisticsTest} compares Little's law with a counted concurrency, in virtual time. */
    @Test
    void averagesAreThoseOfItsAnswers() throws Exception {
        WorkPool pool = pool(4, 100, QueuePolicy.REJECT, Duration.ofMillis(20));
        Queue<WorkPool.WorkAnswer> worked = new ConcurrentLinkedQueue<>();

        // Six callers, each of which calls again after its answer.
        List<Thread> callers = new ArrayList<>();
        for (int caller = 0; caller < 6; caller++) {
            callers.add(Thread.ofPlatform().start(() -> {
                for (int request = 0; request < 20; request++) {
                    worked.add(pool.submit().join());
                }
            }));
        }
        for (Thread caller : callers) {
            caller.join();
        }

        assertThat(pool.getRetiredRequests()).isEqualTo(120);
        double served = worked.stream()
                .mapToLong(WorkPool.WorkAnswer::serviceMs)
                .average()
                .orElseThrow();
        double queued = worked.stream()
                .mapToLong(WorkPool.WorkAnswer::queuedMs)
                .average()
                .orElseThrow();
        assertThat(pool.getAverageServiceTimeMillis()).isGreaterThan(19.9).isCloseTo(served, within(1.0));
        assertThat(pool.getAverageTimeInQueueMillis()).isCloseTo(queued, within(1.0));
        assertThat(pool.getAverageResponseTimeMillis())
                .isCloseTo(pool.getAverageServiceTimeMillis() + pool.getAverageTimeInQueueMillis(), within(1e-6));
        assertThat(pool.getRatioOfDeadTimeToResponseTime()).isCloseTo(queued / (queued + served), within(0.05));
        assertThat(pool.getArrivalRate()).isPositive();
    }

    @Test
    void metersAndMxBeanAgree() throws Exception {
        WorkPool pool = pool(1, 1, QueuePolicy.REJECT, LONG);
        try (WorkPoolJmxRegistration bean = new WorkPoolJmxRegistration(pool)) {
            submit(pool, 3).subList(0, 2).forEach(CompletableFuture::join);

            assertThat(attribute(bean, "RetiredRequests")).isEqualTo(2L);
            assertThat(attribute(bean, "RejectedRequests")).isEqualTo(1L);
            assertThat(attribute(bean, "Workers")).isEqualTo(1);
            assertThat((double) attribute(bean, "ArrivalRate")).isPositive();
            assertThat((double) attribute(bean, "AverageActiveRequests")).isPositive();
            assertThat((double) attribute(bean, "RatioOfDeadTimeToResponseTime"))
                    .isBetween(0.05, 0.95);
            assertThat(meters.get("sim.pool.retired").functionCounter().count()).isEqualTo(2);
            assertThat(meters.get("sim.pool.rejected").functionCounter().count())
                    .isEqualTo(1);
            assertThat(meters.get("sim.pool.service.time").timer().count()).isEqualTo(2);
            assertThat(meters.get("sim.pool.queue.time").timer().count()).isEqualTo(2);
            assertThat(meters.get("sim.pool.arrival.rate").gauge().value()).isPositive();
            assertThat(meters.get("sim.pool.active.average").gauge().value()).isPositive();
            assertThat(meters.get("sim.pool.dead.time.ratio").gauge().value()).isPositive();
        }
        assertThat(ManagementFactory.getPlatformMBeanServer()
                        .queryNames(new ObjectName("io.weir.sim:type=WorkPool,*"), null))
                .isEmpty();
    }

    private static Object attribute(WorkPoolJmxRegistration bean, String name) throws Exception {
        return ManagementFactory.getPlatformMBeanServer().getAttribute(bean.name(), name);
    }

    private static List<CompletableFuture<WorkPool.WorkAnswer>> submit(WorkPool pool, int requests) {
        List<CompletableFuture<WorkPool.WorkAnswer>> answers = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            answers.add(pool.submit());
        }
        return answers;
    }
}
