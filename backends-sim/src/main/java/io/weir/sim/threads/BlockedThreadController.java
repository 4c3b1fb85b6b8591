package io.weir.sim.threads;

import io.weir.sim.problem.ProblemException;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.context.request.async.DeferredResult;

/** The same job in four ways: the first holds its servlet thread, the others release it. */
@RestController
@ConditionalOnStack({Stack.MVC_JDBC, Stack.MVC_JDBC_VIRTUAL, Stack.MVC_R2DBC})
class BlockedThreadController implements AutoCloseable {

    private static final int QUEUE_CAPACITY = 1000;

    private final UnitOfWork job;
    private final ThreadPoolExecutor threads;
    private final ExecutorService virtualThreads = Executors.newVirtualThreadPerTaskExecutor();

    BlockedThreadController(JobProperties properties) {
        this.job = properties.job();
        this.threads = new ThreadPoolExecutor(
                properties.threads(),
                properties.threads(),
                1,
                TimeUnit.MINUTES,
                new LinkedBlockingQueue<>(QUEUE_CAPACITY),
                Thread.ofPlatform().daemon().name("job-", 0).factory());
        threads.allowCoreThreadTimeOut(true);
    }

    /**
     * The answer.
     *
     * @param takenBy the servlet thread that accepted the request
     * @param doneBy the thread that did the job
     */
    record JobAnswer(String way, long ms, String takenBy, String doneBy) {}

    @GetMapping("/block")
    JobAnswer block() {
        return doJob("block", threadName());
    }

    @GetMapping("/deferred")
    DeferredResult<JobAnswer> deferred() {
        DeferredResult<JobAnswer> result = new DeferredResult<>();
        String takenBy = threadName();
        run(threads, () -> {
            try {
                result.setResult(doJob("deferred", takenBy));
            } catch (RuntimeException e) {
                result.setErrorResult(e);
            }
        });
        return result;
    }

    @GetMapping("/completable")
    CompletableFuture<JobAnswer> completable() {
        return completeOn("completable", threads);
    }

    @GetMapping("/virtual")
    CompletableFuture<JobAnswer> virtual() {
        return completeOn("virtual", virtualThreads);
    }

    private CompletableFuture<JobAnswer> completeOn(String way, Executor executor) {
        String takenBy = threadName();
        return CompletableFuture.supplyAsync(() -> doJob(way, takenBy), task -> run(executor, task));
    }

    private static void run(Executor executor, Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) {
            throw ProblemException.unavailable(
                    "Overloaded", "all job threads are busy, and " + QUEUE_CAPACITY + " jobs wait");
        }
    }

    private JobAnswer doJob(String way, String takenBy) {
        try {
            job.run();
            return new JobAnswer(way, job.time().toMillis(), takenBy, threadName());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CompletionException(e);
        }
    }

    private static String threadName() {
        Thread thread = Thread.currentThread();
        return thread.isVirtual() ? "virtual-" + thread.threadId() : thread.getName();
    }

    @Override
    public void close() {
        threads.shutdownNow();
        virtualThreads.shutdownNow();
    }
}
