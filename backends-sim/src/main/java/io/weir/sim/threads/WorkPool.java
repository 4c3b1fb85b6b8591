package io.weir.sim.threads;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.weir.sim.problem.Refusal;
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
 * A service behind a thread pool of a fixed size with a bounded queue, instrumented. What its caller does meanwhile does
 * not matter to it: a request whose caller has left is worked on like any other, as by most services.
 */
@Component
@ConditionalOnWebApplication
final class WorkPool implements WorkPoolMXBean, AutoCloseable {

    private final UnitOfWork work;
    private final ThreadPoolExecutor pool;
    private final LittlesLaw law;
    private final LongSupplier nanoTime = System::nanoTime;
    private final LongAdder rejected = new LongAdder();
    private final LongAdder discarded = new LongAdder();
    private final LongAdder runByCaller = new LongAdder();
    private final Timer queueTime;
    private final Timer serviceTime;

    WorkPool(WorkPoolProperties properties, MeterRegistry meters) {
        this.work = properties.work();
        this.law = new LittlesLaw(properties.window(), nanoTime);
        QueuePolicy policy = properties.policy();
        this.pool = new ThreadPoolExecutor(
                properties.workers(),
                properties.workers(),
                0,
                TimeUnit.SECONDS,
                queue(properties.queueCapacity()),
                Thread.ofPlatform().daemon().name("work-", 0).factory(),
                (job, full) -> policy.full((Job) job, full));
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

    /** What a request gets. */
    record Worked(long queuedMs, long serviceMs, int digits) {}

    /** Brings a request: its work begins when a worker is free. */
    CompletableFuture<Worked> submit() {
        Job job = new Job();
        law.arrived();
        pool.execute(job);
        return job.answer;
    }

    /** A request, from its arrival to its answer. */
    final class Job implements Runnable {
        private final long arrivedNanos = nanoTime.getAsLong();
        private final CompletableFuture<Worked> answer = new CompletableFuture<>();

        @Override
        public void run() {
            long begun = nanoTime.getAsLong();
            try {
                int digits = work.run();
                long done = nanoTime.getAsLong();
                long queued = begun - arrivedNanos;
                law.retired(queued, done - begun);
                queueTime.record(queued, TimeUnit.NANOSECONDS);
                serviceTime.record(done - begun, TimeUnit.NANOSECONDS);
                answer.complete(new Worked(
                        TimeUnit.NANOSECONDS.toMillis(queued), TimeUnit.NANOSECONDS.toMillis(done - begun), digits));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                answer.completeExceptionally(Refusal.unavailable("Stopping", "the service is stopping"));
            }
        }

        void runByCaller() {
            runByCaller.increment();
            run();
        }

        /** Ends it unserved. */
        void refuse(String how, String why) {
            ("discarded".equals(how) ? discarded : rejected).increment();
            law.withdrawn();
            answer.completeExceptionally(Refusal.unavailable("Request " + how, why));
        }
    }

    private void register(MeterRegistry meters) {
        gauge(meters, "sim.pool.workers", "Threads", WorkPool::getWorkers);
        gauge(meters, "sim.pool.workers.busy", "Threads at work", WorkPool::getBusyWorkers);
        gauge(meters, "sim.pool.queue.length", "Requests that wait for a worker", WorkPool::getQueueLength);
        gauge(meters, "sim.pool.arrival.rate", "Requests a second that were let in", WorkPool::getArrivalRate);
        gauge(
                meters,
                "sim.pool.active.average",
                "Requests waiting or at work on average: arrival rate times response time",
                WorkPool::getAverageActiveRequests);
        gauge(
                meters,
                "sim.pool.dead.time.ratio",
                "Share of the response time that is waiting for a worker",
                WorkPool::getRatioOfDeadTimeToResponseTime);
        count(meters, "sim.pool.retired", "Requests served", WorkPool::getRetiredRequests);
        count(meters, "sim.pool.rejected", "Requests refused, the queue being full", WorkPool::getRejectedRequests);
        count(meters, "sim.pool.discarded", "Requests discarded for newer ones", WorkPool::getDiscardedRequests);
        count(meters, "sim.pool.caller.runs", "Requests served by their callers", WorkPool::getRequestsRunByCaller);
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
        return law.figures().arrivalRate();
    }

    @Override
    public double getAverageServiceTimeMillis() {
        return law.figures().serviceTime() * 1000;
    }

    @Override
    public double getAverageTimeInQueueMillis() {
        return law.figures().timeInQueue() * 1000;
    }

    @Override
    public double getAverageResponseTimeMillis() {
        return law.figures().responseTime() * 1000;
    }

    @Override
    public double getAverageActiveRequests() {
        return law.figures().averageActive();
    }

    @Override
    public double getRatioOfDeadTimeToResponseTime() {
        return law.figures().deadTimeRatio();
    }

    @Override
    public double getRatioOfActiveRequestsToCores() {
        return getAverageActiveRequests() / Runtime.getRuntime().availableProcessors();
    }

    @Override
    public long getRetiredRequests() {
        return law.totalRetired();
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
