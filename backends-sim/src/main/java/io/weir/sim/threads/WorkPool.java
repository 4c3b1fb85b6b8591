package io.weir.sim.threads;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.weir.sim.problem.ProblemException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.stereotype.Component;

/**
 * A service behind an instrumented thread pool of fixed size with a bounded queue. It ignores cancellation:
 * like most services it also completes the work of a request whose caller has left.
 */
@Component
@ConditionalOnWebApplication
final class WorkPool implements WorkPoolMXBean, AutoCloseable {

    private final UnitOfWork work;
    private final ThreadPoolExecutor pool;
    private final WorkPoolStatistics statistics;
    private final LongSupplier nanoTime = System::nanoTime;
    private final LongAdder rejected = new LongAdder();
    private final LongAdder discarded = new LongAdder();
    private final LongAdder runByCaller = new LongAdder();
    private final Timer queueTime;
    private final Timer serviceTime;

    WorkPool(WorkPoolProperties properties, MeterRegistry meters) {
        this.work = properties.work();
        this.statistics = new WorkPoolStatistics(properties.window(), nanoTime);
        QueuePolicy policy = properties.policy();
        this.pool = new ThreadPoolExecutor(
                properties.workers(),
                properties.workers(),
                0,
                TimeUnit.SECONDS,
                queue(properties.queueCapacity()),
                Thread.ofPlatform().daemon().name("work-", 0).factory(),
                (job, full) -> policy.onFull((Job) job, full));
        this.queueTime = Timer.builder("sim.pool.queue.time")
                .description("Time that requests waited for a worker")
                .register(meters);
        this.serviceTime = Timer.builder("sim.pool.service.time")
                .description("Time that workers spent on requests")
                .register(meters);
        register(meters);
    }

    private static BlockingQueue<Runnable> queue(int capacity) {
        return switch (capacity) {
            case WorkPoolProperties.UNBOUNDED -> new LinkedBlockingQueue<>();
            case 0 -> new SynchronousQueue<>();
            default -> new LinkedBlockingQueue<>(capacity);
        };
    }

    /** The answer to a request. */
    record WorkAnswer(long queuedMs, long serviceMs, int digits) {}

    /** Submits a request; its work begins when a worker is free. */
    CompletableFuture<WorkAnswer> submit() {
        Job job = new Job();
        statistics.arrived();
        pool.execute(job);
        return job.answer;
    }

    /** A request from its arrival to its answer. */
    final class Job implements Runnable {
        private final long arrivedNanos = nanoTime.getAsLong();
        private final CompletableFuture<WorkAnswer> answer = new CompletableFuture<>();

        @Override
        public void run() {
            long startNanos = nanoTime.getAsLong();
            try {
                int digits = work.run();
                long endNanos = nanoTime.getAsLong();
                long queuedNanos = startNanos - arrivedNanos;
                statistics.retired(queuedNanos, endNanos - startNanos);
                queueTime.record(queuedNanos, TimeUnit.NANOSECONDS);
                serviceTime.record(endNanos - startNanos, TimeUnit.NANOSECONDS);
                answer.complete(new WorkAnswer(
                        TimeUnit.NANOSECONDS.toMillis(queuedNanos),
                        TimeUnit.NANOSECONDS.toMillis(endNanos - startNanos),
                        digits));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                answer.completeExceptionally(ProblemException.unavailable("Stopping", "the service is stopping"));
            }
        }

        void runByCaller() {
            runByCaller.increment();
            run();
        }

        /** Refuses the new request, since the queue is full. */
        void reject(String reason) {
            rejected.increment();
            refuse("Request rejected", reason);
        }

        /** Refuses this waiting request in favour of a newer one. */
        void discard(String reason) {
            discarded.increment();
            refuse("Request discarded", reason);
        }

        private void refuse(String title, String reason) {
            statistics.refused();
            answer.completeExceptionally(ProblemException.unavailable(title, reason));
        }
    }

    private void register(MeterRegistry meters) {
        gauge(meters, "sim.pool.workers", "Threads of the pool", WorkPool::getWorkers);
        gauge(meters, "sim.pool.workers.busy", "Threads that work now", WorkPool::getBusyWorkers);
        gauge(meters, "sim.pool.queue.length", "Requests that wait for a worker", WorkPool::getQueueLength);
        gauge(meters, "sim.pool.arrival.rate", "Accepted requests per second", WorkPool::getArrivalRate);
        gauge(
                meters,
                "sim.pool.active.average",
                "Average number of requests waiting or in work: arrival rate times response time",
                WorkPool::getAverageActiveRequests);
        gauge(
                meters,
                "sim.pool.dead.time.ratio",
                "Share of the response time spent waiting for a worker",
                WorkPool::getRatioOfDeadTimeToResponseTime);
        count(meters, "sim.pool.retired", "Requests served", WorkPool::getRetiredRequests);
        count(
                meters,
                "sim.pool.rejected",
                "Requests refused because the queue was full",
                WorkPool::getRejectedRequests);
        count(meters, "sim.pool.discarded", "Requests discarded for newer ones", WorkPool::getDiscardedRequests);
        count(
                meters,
                "sim.pool.caller.runs",
                "Requests served by the calling thread",
                WorkPool::getRequestsRunByCaller);
    }

    private void gauge(
            MeterRegistry meters,
            String name,
            String description,
            java.util.function.ToDoubleFunction<WorkPool> value) {
        Gauge.builder(name, this, value).description(description).register(meters);
    }

    private void count(
            MeterRegistry meters,
            String name,
            String description,
            java.util.function.ToDoubleFunction<WorkPool> value) {
        FunctionCounter.builder(name, this, value).description(description).register(meters);
    }

    @Override
    public int getWorkers() {
        return pool.getMaximumPoolSize();
    }

    @Override
    public int getBusyWorkers() {
        return pool.getActiveCount();
    }

    @Override
    public int getQueueLength() {
        return pool.getQueue().size();
    }

    @Override
    public double getArrivalRate() {
        return statistics.averages().arrivalRate();
    }

    @Override
    public double getAverageServiceTimeMillis() {
        return statistics.averages().serviceTime() * 1000;
    }

    @Override
    public double getAverageTimeInQueueMillis() {
        return statistics.averages().timeInQueue() * 1000;
    }

    @Override
    public double getAverageResponseTimeMillis() {
        return statistics.averages().responseTime() * 1000;
    }

    @Override
    public double getAverageActiveRequests() {
        return statistics.averages().averageActive();
    }

    @Override
    public double getRatioOfDeadTimeToResponseTime() {
        return statistics.averages().deadTimeRatio();
    }

    @Override
    public double getRatioOfActiveRequestsToCores() {
        return getAverageActiveRequests() / Runtime.getRuntime().availableProcessors();
    }

    @Override
    public long getRetiredRequests() {
        return statistics.totalRetired();
    }

    @Override
    public long getRejectedRequests() {
        return rejected.sum();
    }

    @Override
    public long getDiscardedRequests() {
        return discarded.sum();
    }

    @Override
    public long getRequestsRunByCaller() {
        return runByCaller.sum();
    }

    @Override
    public void close() {
        pool.shutdownNow();
    }
}
