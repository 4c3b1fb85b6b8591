package io.weir.sim.records;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.jvm.ExecutorServiceMetrics;
import io.weir.sim.problem.ProblemException;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** The records over JDBC on a separate thread pool, so that the event loops never block. */
@Component
@ConditionalOnStack(Stack.WEBFLUX_JDBC)
class OffloadedRecords implements ReactiveRecords, AutoCloseable {

    private static final int IDLE_SECONDS = 60;

    private final JdbcRecords records;
    private final ThreadPoolExecutor threads;
    private final Scheduler scheduler;

    OffloadedRecords(JdbcRecords records, OffloadProperties properties, MeterRegistry meters) {
        this.records = records;
        this.threads = new ThreadPoolExecutor(
                properties.threads(),
                properties.threads(),
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(properties.queueCapacity()),
                Thread.ofPlatform().daemon().name("jdbc-", 0).factory());
        threads.allowCoreThreadTimeOut(true);
        this.scheduler =
                Schedulers.fromExecutorService(ExecutorServiceMetrics.monitor(meters, threads, "offload"), "offload");
    }

    @Override
    public Flux<StoredRecord> firstTen() {
        return offload(records::firstTen).flatMapIterable((List<StoredRecord> ten) -> ten);
    }

    @Override
    public Mono<StoredRecord> insert(NewRecord.ValidRecord newRecord) {
        return offload(() -> records.insert(newRecord));
    }

    @Override
    public Mono<StoredRecord> update(long id, NewRecord.ValidRecord newRecord) {
        return offload(() -> records.update(id, newRecord));
    }

    @Override
    public Mono<SleepAnswer> sleep(Duration time) {
        return offload(() -> records.sleep(time));
    }

    private <T> Mono<T> offload(Callable<T> call) {
        return Mono.fromCallable(call)
                .subscribeOn(scheduler)
                .onErrorMap(
                        RejectedExecutionException.class,
                        full -> ProblemException.unavailable(
                                "Overloaded",
                                "all database threads are busy, and "
                                        + threads.getQueue().size() + " calls wait"));
    }

    @Override
    public void close() {
        scheduler.dispose();
    }
}
