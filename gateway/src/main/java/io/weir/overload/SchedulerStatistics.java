package io.weir.overload;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The wait as Linux measures it: the second number of {@code /proc/thread-self/schedstat}
 * (Documentation/scheduler/sched-stats.rst). It includes the time for which a control group has used up its
 * share of the processors. Where the system does not tell it, as on others than Linux, it is 0.
 */
// Concurrency: confined to the thread, which opens the file with the first call and ends it by close().
final class SchedulerStatistics implements ProcessorWait {

    private static final Logger log = LoggerFactory.getLogger(SchedulerStatistics.class);
    private static final Path FILE = Path.of("/proc/thread-self/schedstat");
    private static final int FILE_BYTES = 64;

    private final ByteBuffer buffer = ByteBuffer.allocateDirect(FILE_BYTES);
    private final Path file;
    private @Nullable FileChannel channel;
    private boolean isUnknown;
    private long nanos;

    SchedulerStatistics() {
        this(FILE);
    }

    /** The time in another file, whose first two numbers are those of {@code schedstat}. */
    SchedulerStatistics(Path file) {
        this.file = file;
    }

    /** Takes about two microseconds, and never waits for a disk. */
    @Override
    public long nanos() {
        if (!isUnknown) {
            try {
                nanos = read();
            } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
                isUnknown = true;
                log.debug("The event loops' delays include the time for which they wait for a processor", e);
                close();
            }
        }
        return nanos;
    }

    private long read() throws IOException {
        FileChannel open = channel;
        if (open == null) {
            open = FileChannel.open(file, StandardOpenOption.READ);
            channel = open;
        }
        buffer.clear();
        // From its beginning: the system writes the file anew.
        int bytes = open.read(buffer, 0);
        int i = 0;
        while (i < bytes && buffer.get(i) != ' ') {
            i++;
        }
        int first = ++i;
        long value = 0;
        while (i < bytes && buffer.get(i) >= '0' && buffer.get(i) <= '9') {
            value = 10 * value + buffer.get(i) - '0';
            i++;
        }
        if (i == first) {
            throw new IOException(file + ": " + bytes + " bytes (expected: two numbers)");
        }
        return value;
    }

    @Override
    public void close() {
        isUnknown = true;
        FileChannel open = channel;
        channel = null;
        if (open != null) {
            try {
                open.close();
            } catch (IOException e) {
                log.debug("{} was not closed", file, e);
            }
        }
    }
}
