package io.weir.engine;

import io.netty.channel.EventLoop;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The exchanges of one event loop that are in flight, so that those that a drain leaves can be ended, each with its own last word.
 *
 * <p>A list through the exchanges themselves: to come and to go allocates nothing. Concurrency: confined to the event loop, but for {@link #end}.
 */
final class Roster {

    private final EventLoop loop;
    private @Nullable Exchange first;

    Roster(EventLoop loop) {
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
        loop.execute(() -> {
            for (Exchange exchange = first; exchange != null; exchange = exchange.next) {
                if (which.test(exchange)) {
                    exchange.shutDown();
                }
            }
        });
    }
}
