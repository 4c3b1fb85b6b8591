package io.weir.overload;

import io.netty.util.internal.PlatformDependent;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The share of memory in use: of direct memory, through which bodies pass, and of the heap.
 *
 * <p>Of the heap only the bytes that survived a garbage collection count, since garbage makes any heap look
 * full. They are known for the old generation after each collection of it, and count for {@value
 * #VALID_SECONDS} seconds: a heap that is really full is collected all the time. Without that time limit, a
 * gateway that sheds all requests would allocate little, not collect, and consider itself full for ever.
 *
 * <p>Not thread-safe: for the sampler's thread.
 */
public final class MemoryShare {

    static final int VALID_SECONDS = 5;

    private static final double PERCENT = 100;

    /** A memory pool of the heap. */
    interface HeapPool {

        /** The bytes in use after the last collection; negative while unknown. */
        long survivingBytes();

        /** The pool's limit in bytes; 0 or negative: none. */
        long limitBytes();
    }

    private final List<WatchedPool> heap;
    private final LongSupplier directUsed;
    private final long directLimit;

    /**
     * The shares of these pools.
     *
     * @param heap the pools of the heap in which objects stay
     * @param directUsed the bytes of direct memory in use
     * @param directLimit the limit of direct memory in bytes; 0 or negative: none
     */
    public MemoryShare(List<HeapPool> heap, LongSupplier directUsed, long directLimit) {
        this.heap = heap.stream().map(WatchedPool::new).toList();
        this.directUsed = directUsed;
        this.directLimit = directLimit;
    }

    /** The shares of this JVM. */
    static MemoryShare ofThisJvm() {
        List<HeapPool> old = ManagementFactory.getMemoryPoolMXBeans().stream()
                // Pools in which objects stay support this threshold; eden and survivor spaces do not.
                .filter(pool -> pool.getType() == MemoryType.HEAP && pool.isCollectionUsageThresholdSupported())
                .<HeapPool>map(OldGeneration::new)
                .toList();
        List<BufferPoolMXBean> buffers = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .toList();
        // Neither figure includes the other: Netty's buffers need not come from the JDK's pool, nor the JDK's
        // from Netty.
        LongSupplier used = () -> Math.max(
                PlatformDependent.usedDirectMemory(),
                buffers.stream().mapToLong(BufferPoolMXBean::getMemoryUsed).sum());
        return new MemoryShare(old, used, PlatformDependent.maxDirectMemory());
    }

    /** Direct memory in use, in percent. */
    int directPercent() {
        return percent(directUsed.getAsLong(), directLimit);
    }

    /** The heap that survived a collection, in percent; 0 if there was no collection recently. */
    int heapPercent(long nowNanos) {
        int fullest = 0;
        for (WatchedPool pool : heap) {
            fullest = Math.max(fullest, pool.percent(nowNanos));
        }
        return fullest;
    }

    private static int percent(long used, long limit) {
        return limit <= 0 ? 0 : (int) Math.ceil(PERCENT * Math.max(0, used) / limit);
    }

    /** A pool and the time at which its last collection was observed. */
    private static final class WatchedPool {

        private final HeapPool pool;
        private long survived;
        private boolean isValid;
        private long observedAtNanos;

        WatchedPool(HeapPool pool) {
            this.pool = pool;
            this.survived = pool.survivingBytes();
        }

        int percent(long nowNanos) {
            long now = pool.survivingBytes();
            if (now != survived) {
                // Two collections practically never leave the same number of bytes.
                survived = now;
                isValid = true;
                observedAtNanos = nowNanos;
            } else if (nowNanos - observedAtNanos >= TimeUnit.SECONDS.toNanos(VALID_SECONDS)) {
                isValid = false;
            }
            return isValid ? MemoryShare.percent(now, pool.limitBytes()) : 0;
        }
    }

    private record OldGeneration(MemoryPoolMXBean bean) implements HeapPool {

        @Override
        public long survivingBytes() {
            MemoryUsage usage = bean.getCollectionUsage();
            return usage == null ? -1 : usage.getUsed();
        }

        @Override
        public long limitBytes() {
            MemoryUsage usage = bean.getCollectionUsage();
            long max = usage == null ? -1 : usage.getMax();
            return max > 0 ? max : Runtime.getRuntime().maxMemory();
        }
    }
}
