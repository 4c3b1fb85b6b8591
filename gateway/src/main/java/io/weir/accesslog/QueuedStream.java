package io.weir.accesslog;

import java.io.OutputStream;
import java.io.PrintStream;
import java.util.Arrays;

/** A print stream for which no thread waits: each write is queued, or dropped and counted. */
final class QueuedStream extends OutputStream {

    static final int CAPACITY = 2_048;

    private final QueuedWriter<byte[]> writer;

    private QueuedStream(PrintStream target) {
        this.writer = new QueuedWriter<>(
                CAPACITY,
                bytes -> {
                    target.write(bytes, 0, bytes.length);
                    target.flush();
                },
                message -> ("Standard error: " + message + '\n').getBytes(target.charset()));
    }

    /** Replaces standard error by a queue in front of it. */
    static QueuedStream replaceStandardError() {
        PrintStream target = System.err;
        QueuedStream stream = new QueuedStream(target);
        System.setErr(new PrintStream(stream, false, target.charset()));
        return stream;
    }

    @Override
    public void write(int b) {
        write(new byte[] {(byte) b}, 0, 1);
    }

    /** Queues the bytes. A print stream writes a whole line, or up to 8 KB of it, at a time. */
    @Override
    public void write(byte[] bytes, int offset, int length) {
        writer.offer(Arrays.copyOfRange(bytes, offset, offset + length), CAPACITY);
    }

    /** Writes that were dropped since the start. */
    long dropped() {
        return writer.dropped();
    }

    /** Writes the queued bytes. Later ones are dropped. */
    @Override
    public void close() {
        writer.close();
    }
}
