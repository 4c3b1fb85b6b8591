/**
 * The access log, one JSON line for each request; and the queues of the gateway's own log.
 *
 * <p><b>The access log never blocks a request.</b> {@link io.weir.accesslog.AccessLog} formats a line on the
 * event loop of its exchange, as one array of bytes, and puts it into a bounded queue. {@link
 * io.weir.accesslog.LineWriter} writes the lines in batches on one thread. If a disk is full, or a pipe has
 * no reader, the log drops lines and counts them in {@code weir_access_log_dropped_total}; no exchange is
 * affected.
 *
 * <p><b>Untrusted content.</b> Callers choose the path and some headers. {@link io.weir.accesslog.JsonLine}
 * escapes them so that a caller can neither forge a line nor control a terminal, and truncates long values.
 * The path is logged without its query, since a query may hold secrets.
 *
 * <p><b>Rotation.</b> {@link io.weir.accesslog.LineSink} opens the file again after it was renamed, so that
 * rotation needs no signal.
 *
 * <p><b>The gateway's own log does not block either.</b> An appender writes on the thread that logs, under a
 * lock: a pipe that nobody reads, or a disk that hangs, would stop each event loop at its next line. {@link
 * io.weir.accesslog.QueuedLog} puts a queue in front of each appender, and of standard error. What finds a
 * queue full is dropped and counted in {@code weir_log_dropped_total}; the output itself has one line with
 * the number as soon as its queue is empty. The queues are written at a stop and after a failed start; a stop
 * does not wait for an output that is stuck. Only the gateway's main method installs them: the check of a
 * configuration prints directly, since no call waits for it.
 *
 * <p><b>Rejected:</b> Logback with an asynchronous appender and a JSON encoder: an event and a map for each
 * line, and a queue that takes a lock.
 *
 * <p><b>The queue</b> ({@link io.weir.accesslog.LineQueue}) is JCTools' {@code MpscAtomicArrayQueue}. It
 * costs as much as the ring that it replaced: 13 ns for adding and removing a line on one thread, 7 ns for
 * each line of two concurrent event loops, no allocation. Its sibling {@code MpscArrayQueue} is faster only
 * within the noise of the measurement (12 and 7 ns), and uses methods of {@code sun.misc.Unsafe} that the JDK
 * warns about. Netty contains a relocated copy of JCTools, which is internal to Netty.
 *
 * <p><b>Concurrency.</b> Event loops offer, the writer polls, and neither waits for the other. Buffers for
 * formatting belong to their thread.
 *
 * <p><b>Limitations.</b> Lines in a queue are lost if the process is killed, or if the sink is stuck for a
 * second at the shutdown. Conversion words for the line of code that has logged ({@code %line}, {@code
 * %caller}) have no value behind a queue. What an extension prints to standard output by itself, and the
 * warnings of the Java machine, have no queue.
 */
@NullMarked
package io.weir.accesslog;

import org.jspecify.annotations.NullMarked;
