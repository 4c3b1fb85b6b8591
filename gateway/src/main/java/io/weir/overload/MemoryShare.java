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
 * How much of the memory is in use: direct memory, which bodies pass through, and the heap.
 *
 * <p>Of the heap only what survived a collection counts: garbage makes any heap look full. That is known of the old
 * generation after a collection of it, and then for {@value #BELIEVED_SECONDS} seconds: a heap that is really full is
 * collected all the time. Without that bound a gateway that sheds everything would allocate little, not collect, and go
 * on believing that it is full.
 *
 * <p>Not thread-safe: for the sampler's thread.
 */
public final class MemoryShare {

    static final int BELIEVED_SECONDS = 5;

    private static final double PERCENT = 100;

    /** A memory pool of the heap after its last collection. */
    interface Pool {

        /** Bytes that survived; negative while none is known. */
        long survived();

        /** Bytes that it may have; not positive: no limit of its own. */
        long limit();
    }

    private final List<Watched> heap;
    private final LongSupplier directUsed;
    private final long directLimit;

    public MemoryShare(List<Pool> heap, LongSupplier directUsed, long directLimit) {
        this.heap = heap.stream().map(Watched::new).toList();
        this.directUsed = directUsed;
        this.directLimit = directLimit;
    }

    /** This JVM's. */
    static MemoryShare ofThisJvm() {
        List<Pool> old = ManagementFactory.getMemoryPoolMXBeans().stream()
                // The pools that have a threshold for it are those in which objects stay: not eden, not survivors.
                .filter(pool -> pool.getType() == MemoryType.HEAP && pool.isCollectionUsageThresholdSupported())
                .<Pool>map(OldGeneration::new)
                .toList();
        List<BufferPoolMXBean> buffers = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .toList();
        // Either counts what the other may not: Netty's buffers need not come from the JDK's pool, nor the JDK's from
        // Netty.
        LongSupplier used = () -> Math.max(
                PlatformDependent.usedDirectMemory(),
                buffers.stream().mapToLong(BufferPoolMXBean::getMemoryUsed).sum());
        return new MemoryShare(old, used, PlatformDependent.maxDirectMemory());
    }

    /** Direct memory in use; percent. */
    int directPercent() {
        return percent(directUsed.getAsLong(), directLimit);
    }

    /** Heap that survived a collection; percent; 0 if there was none of late. */
    int heapPercent(long nowNanos) {
        int fullest = 0;
        for (Watched pool : heap) {
            fullest = Math.max(fullest, pool.percent(nowNanos));
        }
        return fullest;
    }

    private static int percent(long used, long limit) {
        return limit <= 0 ? 0 : (int) Math.ceil(PERCENT * Math.max(0, used) / limit);
    }

    /** A pool, and when its last collection was noticed. */
    private static final class Watched {

        private final Pool pool;
        private long survived;
        private boolean noticed;
        private long noticedAt;

        Watched(Pool pool) {
            this.pool = pool;
            this.survived = pool.survived();
        }

        int percent(long nowNanos) {
            long now = pool.survived();
            if (now != survived) {
                // Two collections never leave the same number of bytes.
                survived = now;
                noticed = true;
                noticedAt = nowNanos;
            } else if (nowNanos - noticedAt >= TimeUnit.SECONDS.toNanos(BELIEVED_SECONDS)) {
                noticed = false;
            }
            return noticed ? MemoryShare.percent(now, pool.limit()) : 0;
        }
    }

    private record OldGeneration(MemoryPoolMXBean bean) implements Pool {

        @Override
        public long survived() {
            MemoryUsage usage = bean.getCollectionUsage();
            return usage == null ? -1 : usage.getUsed();
        }

        @Override
        public long limit() {
            MemoryUsage usage = bean.getCollectionUsage();
            long max = usage == null ? -1 : usage.getMax();
            return max > 0 ? max : Runtime.getRuntime().maxMemory();
        }
    }
}
