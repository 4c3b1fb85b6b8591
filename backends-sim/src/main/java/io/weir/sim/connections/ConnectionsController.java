package io.weir.sim.connections;

import io.weir.sim.connections.SmallPool.Acquisition;
import io.weir.sim.connections.SmallPool.PoolGuard;
import io.weir.sim.problem.ProblemException;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * {@code GET /connections?guard=none|semaphore&acquisition=single|nested|once}: serves each request on a
 * virtual thread.
 */
@RestController
@ConditionalOnStack({Stack.MVC_JDBC, Stack.MVC_JDBC_VIRTUAL, Stack.WEBFLUX_JDBC})
class ConnectionsController implements AutoCloseable {

    private final SmallPool pool;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    ConnectionsController(SmallPool pool) {
        this.pool = pool;
    }

    /** The answer: the two parameters of the request. */
    record ConnectionsAnswer(String guard, String acquisition) {}

    @GetMapping("/connections")
    CompletableFuture<ConnectionsAnswer> use(
            @RequestParam(defaultValue = "none") String guard,
            @RequestParam(defaultValue = "single") String acquisition) {
        PoolGuard poolGuard = parse("guard", guard, PoolGuard.values());
        Acquisition acquisitionMode = parse("acquisition", acquisition, Acquisition.values());
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        pool.use(poolGuard, acquisitionMode);
                        return new ConnectionsAnswer(guard, acquisition);
                    } catch (SQLException e) {
                        throw new CompletionException(e);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                        throw new CompletionException(e);
                    }
                },
                threads);
    }

    private static <E extends Enum<E>> E parse(String parameter, String value, E[] values) {
        return Arrays.stream(values)
                .filter(candidate -> candidate.name().toLowerCase(Locale.ROOT).equals(value))
                .findFirst()
                .orElseThrow(() -> ProblemException.badRequest(parameter + ": " + value + " (expected: one of "
                        + Arrays.toString(values).toLowerCase(Locale.ROOT) + ")"));
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
