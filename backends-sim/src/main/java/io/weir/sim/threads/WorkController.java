package io.weir.sim.threads;

import java.util.concurrent.CompletableFuture;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** {@code GET /work}: answers from the pool. It holds no server thread, so that only the pool limits it. */
@RestController
@ConditionalOnWebApplication
class WorkController {

    private final WorkPool pool;

    WorkController(WorkPool pool) {
        this.pool = pool;
    }

    @GetMapping("/work")
    CompletableFuture<WorkPool.WorkAnswer> work() {
        return pool.submit();
    }
}
