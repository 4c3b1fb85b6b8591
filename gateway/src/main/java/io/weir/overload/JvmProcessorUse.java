package io.weir.overload;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** The processor time as the JVM measures it. Where it does not, there seems to be no work outside. */
final class JvmProcessorUse implements ProcessorUse {

    private final @Nullable OperatingSystemMXBean process =
            ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean known ? known : null;
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final Collection<LoopDelay> loops;

    /** The use by all threads but those of these loops. */
    JvmProcessorUse(Collection<LoopDelay> loops) {
        this.loops = loops;
    }

    @Override
    public long outsideNanos() {
        if (process == null || !threads.isThreadCpuTimeSupported()) {
            return 0;
        }
        long nanos = process.getProcessCpuTime();
        for (LoopDelay loop : loops) {
            long id = loop.threadId();
            if (id != 0) {
                nanos -= threads.getThreadCpuTime(id);
            }
        }
        return nanos;
    }
}
