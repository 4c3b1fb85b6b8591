package io.weir.engine;

import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The exchanges of one event loop that are in flight, so that those that a drain leaves can be ended, each with its own last word.
 *
 * <p>A list through the exchanges themselves: to come and to go allocates nothing. Concurrency: confined to the event loop, but for {@link #end}.
 */
final class InFlightExchanges {

    private static final Logger log = LoggerFactory.getLogger(InFlightExchanges.class);

    private final EventLoop loop;
    private @Nullable Exchange first;

    InFlightExchanges(EventLoop loop) {
        this.loop = loop;
    }

    void add(Exchange exchange) {
        Exchange second = first;
        exchange.next = second;
        if (second != null) {
            second.previous = exchange;
        }
        first = exchange;
    }

    void remove(Exchange exchange) {
        Exchange previous = exchange.previous;
        Exchange next = exchange.next;
        if (previous != null) {
            previous.next = next;
        } else {
            first = next;
        }
        if (next != null) {
            next.previous = previous;
        }
        exchange.previous = null;
        exchange.next = null;
    }

    /** Ends those that are in flight when the event loop comes to it. From any thread. */
    void end(Predicate<Exchange> which) {
        try {
            loop.execute(() -> {
                for (Exchange exchange = first; exchange != null; exchange = exchange.next) {
                    if (which.test(exchange)) {
                        exchange.shutDown();
                    }
                }
            });
        } catch (RejectedExecutionException e) {
            // It has stopped, and its connections with it: nothing is in flight there. The others are still to be
            // ended.
            log.debug("Nothing to end on an event loop that has stopped", e);
        }
    }
}
