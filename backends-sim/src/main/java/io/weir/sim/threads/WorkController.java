package io.weir.sim.threads;

import java.util.concurrent.CompletableFuture;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** {@code GET /work}: the pool's answer. It holds no thread of the server, so that the pool alone is what is observed. */
@RestController
@ConditionalOnWebApplication
class WorkController {

    private final WorkPool pool;

    WorkController(WorkPool pool) {
        this.pool = pool;
    }

    @GetMapping("/work")
    CompletableFuture<WorkPool.Worked> work() {
        return pool.submit();
    }
}
