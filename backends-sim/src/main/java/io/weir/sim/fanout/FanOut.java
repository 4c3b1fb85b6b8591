package io.weir.sim.fanout;

import java.net.URI;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A way to call several services for one answer. */
public interface FanOut {

    /** Calls the services in order; each call begins after the previous answer. */
    CompletableFuture<List<String>> sequentially(List<URI> services);

    /** Calls all services at the same time. */
    CompletableFuture<List<String>> inParallel(List<URI> services);
}
