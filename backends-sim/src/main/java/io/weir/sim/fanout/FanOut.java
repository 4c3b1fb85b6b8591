package io.weir.sim.fanout;

import java.net.URI;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A way to ask several services for one answer. */
public interface FanOut {

    /** Asks them in their order, each after the one before it has answered. */
    CompletableFuture<List<String>> oneAfterTheOther(List<URI> services);

    /** Asks them all at the same time. */
    CompletableFuture<List<String>> together(List<URI> services);
}
