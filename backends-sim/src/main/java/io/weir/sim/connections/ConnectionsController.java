package io.weir.sim.connections;

import io.weir.sim.connections.SmallPool.Acquisition;
import io.weir.sim.connections.SmallPool.Guard;
import io.weir.sim.problem.Refusal;
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

/** {@code GET /connections?guard=none|semaphore&acquisition=single|nested|once}: a virtual thread for every request. */
@RestController
@ConditionalOnStack({Stack.MVC_JDBC, Stack.MVC_JDBC_VIRTUAL, Stack.WEBFLUX_JDBC})
class ConnectionsController implements AutoCloseable {

    private final SmallPool pool;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    ConnectionsController(SmallPool pool) {
        this.pool = pool;
    }

    /** What was asked for, done. */
    record Used(String guard, String acquisition) {}

    @GetMapping("/connections")
    CompletableFuture<Used> use(
            @RequestParam(defaultValue = "none") String guard,
            @RequestParam(defaultValue = "single") String acquisition) {
        Guard read = parse("guard", guard, Guard.values());
        Acquisition how = parse("acquisition", acquisition, Acquisition.values());
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        pool.use(read, how);
                        return new Used(guard, acquisition);
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
                .filter(one -> one.name().toLowerCase(Locale.ROOT).equals(value))
                .findFirst()
                .orElseThrow(() -> Refusal.badRequest(parameter + ": " + value + " (expected: one of "
                        + Arrays.toString(values).toLowerCase(Locale.ROOT) + ")"));
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
