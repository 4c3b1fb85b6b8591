package io.weir;

import reactor.netty.ReactorNetty;

/**
 * The number of event loops: one for each processor, at least two. Reactor Netty's own default is at least
 * four.
 *
 * <p>A permit that becomes free passes from the event loop of the answer to the event loop of the next call.
 * Each loop that has no processor of its own adds a switch of threads to that way, during which a place in
 * the backend is empty. On two processors, a backend of 10 workers and 50 ms in an overload of four times its
 * capacity is 99.0 % used by two loops, and 98.7 % by four ({@code perf/scenario overload}). Two loops, also
 * on one processor, keep a long task of one loop, such as a scrape of all metrics, from the other's calls.
 *
 * <p>The system property {@code reactor.netty.ioWorkerCount} overrides it.
 */
final class EventLoops {

    private static final int MIN = 2;

    private EventLoops() {}

    /** Sets the number, unless the system property is set. Before the first event loop starts. */
    static void choose(int processors) {
        if (System.getProperty(ReactorNetty.IO_WORKER_COUNT) == null) {
            System.setProperty(ReactorNetty.IO_WORKER_COUNT, String.valueOf(Math.max(MIN, processors)));
        }
    }
}
