package io.weir.sim.threads;

import io.weir.sim.problem.Refusal;
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

/** The same job in four ways: the first holds its servlet thread, the others do not. */
@RestController
@ConditionalOnStack({Stack.MVC_JDBC, Stack.MVC_JDBC_VIRTUAL, Stack.MVC_R2DBC})
class BlockedThreadController implements AutoCloseable {

    private static final int WAITING_MAX = 1000;

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
                new LinkedBlockingQueue<>(WAITING_MAX),
                Thread.ofPlatform().daemon().name("job-", 0).factory());
        threads.allowCoreThreadTimeOut(true);
    }

    /**
     * What was done, and where.
     *
     * @param takenBy the servlet thread that took the request
     * @param doneBy the thread that did the job
     */
    record Done(String way, long ms, String takenBy, String doneBy) {}

    @GetMapping("/block")
    Done block() {
        return done("block", name());
    }

    @GetMapping("/deferred")
    DeferredResult<Done> deferred() {
        DeferredResult<Done> result = new DeferredResult<>();
        String takenBy = name();
        run(threads, () -> {
            try {
                result.setResult(done("deferred", takenBy));
            } catch (RuntimeException e) {
                result.setErrorResult(e);
            }
        });
        return result;
    }

    @GetMapping("/completable")
    CompletableFuture<Done> completable() {
        return complete("completable", threads);
    }

    @GetMapping("/virtual")
    CompletableFuture<Done> virtual() {
        return complete("virtual", virtualThreads);
    }

    private CompletableFuture<Done> complete(String way, Executor executor) {
        String takenBy = name();
        return CompletableFuture.supplyAsync(() -> done(way, takenBy), task -> run(executor, task));
    }

    private static void run(Executor executor, Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) {
            throw Refusal.unavailable("Overloaded", "every job thread is busy, and " + WAITING_MAX + " jobs wait");
        }
    }

    private Done done(String way, String takenBy) {
        try {
            job.run();
            return new Done(way, job.time().toMillis(), takenBy, name());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CompletionException(e);
        }
    }

    private static String name() {
        Thread here = Thread.currentThread();
        return here.isVirtual() ? "virtual-" + here.threadId() : here.getName();
    }

    @Override
    public void close() {
        threads.shutdownNow();
        virtualThreads.shutdownNow();
    }
}
