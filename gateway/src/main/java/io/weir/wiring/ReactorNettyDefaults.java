package io.weir.wiring;

import reactor.netty.ReactorNetty;

/**
 * Defaults of Reactor Netty that the gateway replaces, unless their system property is set.
 *
 * <p>{@code reactor.netty.ioWorkerCount}, the number of event loops: one for each processor, at least two, in
 * place of at least four. A permit that becomes free passes from the event loop of the answer to the event
 * loop of the next call. Each loop that has no processor of its own adds a switch of threads to that way,
 * during which a place in the backend is empty. On two processors, a backend of 10 workers and 50 ms in an
 * overload of four times its capacity is 99.0 % used by two loops, and 98.7 % by four
 * ({@code perf/scenario overload}). Two loops, also on one processor, keep a long task of one loop, such as a
 * scrape of all metrics, from the other's calls.
 *
 * <p>{@code reactor.netty.send.maxPrefetchSize}, the largest number of unsent buffers of a body:
 * {@value #UNSENT_BUFFERS} in place of 128. The buffers of answers are twice as large as Netty's default, so
 * that a caller who reads slowly holds as much memory, a megabyte.
 */
public final class ReactorNettyDefaults {

    private static final int MIN_EVENT_LOOPS = 2;
    private static final int UNSENT_BUFFERS = 64;

    private ReactorNettyDefaults() {}

    /** Sets the properties. Before the first use of Reactor Netty. */
    public static void set(int processors) {
        setIfAbsent(ReactorNetty.IO_WORKER_COUNT, Math.max(MIN_EVENT_LOOPS, processors));
        setIfAbsent(ReactorNetty.REACTOR_NETTY_SEND_MAX_PREFETCH_SIZE, UNSENT_BUFFERS);
    }

    private static void setIfAbsent(String property, int value) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, String.valueOf(value));
        }
    }
}
