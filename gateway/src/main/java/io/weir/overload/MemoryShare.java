package io.weir.overload;

import io.netty.util.internal.PlatformDependent;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The share of memory in use: of direct memory, through which bodies pass, and of the heap.
 *
 * <p>Of the heap only the bytes that survived garbage collections count, summed over its pools and compared
 * with the whole heap. Garbage makes any heap look full. So does a single pool: a young collection fills a
 * survivor space, and a full collection of the serial and the parallel collector packs all live objects into
 * the old generation, although the young generation is empty then.
 *
 * <p>The whole heap is what its pools can hold together, without the survivor spaces, which are empty most of
 * the time. The parallel collector makes them larger under load: of a heap of 256 MB, they took 27 MB, and an
 * allocation failed with 88 % of the maximum in use.
 *
 * <p>A pool counts with its last collection, if that stops the world and so leaves no garbage (the serial and
 * the parallel collector). Otherwise it counts with the lower of its last two: after a concurrent collection,
 * it still holds the garbage that was allocated meanwhile. This figure is valid for {@value #VALID_SECONDS}
 * seconds after the last collection: a heap that is really full is collected all the time. Without that time
 * limit, a gateway that sheds all requests would allocate little, not collect, and consider itself full for
 * ever.
 *
 * <p>Not thread-safe: for the sampler's thread.
 */
public final class MemoryShare {

    static final int VALID_SECONDS = 5;

    private static final double PERCENT = 100;

    /** A memory pool of the heap. */
    @FunctionalInterface
    interface HeapPool {

        /** The bytes in use after the last collection; negative while unknown. */
        long survivingBytes();

        /** Whether those bytes may include garbage: the application allocates during a collection. */
        default boolean mayHoldGarbage() {
            return true;
        }

        /** The most bytes that can be live in the pool; negative: only the whole heap has a limit. */
        default long capacityBytes() {
            return -1;
        }
    }

    private record JvmPool(MemoryPoolMXBean pool, boolean mayHoldGarbage) implements HeapPool {

        private static final Set<String> STOP_THE_WORLD = Set.of("MarkSweepCompact", "PS MarkSweep");

        static JvmPool of(MemoryPoolMXBean pool) {
            return new JvmPool(pool, Collections.disjoint(Set.of(pool.getMemoryManagerNames()), STOP_THE_WORLD));
        }

        @Override
        public long survivingBytes() {
            MemoryUsage usage = pool.getCollectionUsage();
            return usage == null ? -1 : usage.getUsed();
        }

        @Override
        public long capacityBytes() {
            return pool.getName().contains("Survivor") ? 0 : pool.getUsage().getMax();
        }
    }

    private final List<WatchedPool> heap;
    private final long heapLimit;
    private final LongSupplier directUsed;
    private final long directLimit;

    /**
     * The shares of these pools.
     *
     * @param heap the pools of the heap
     * @param heapLimit the limit of the whole heap in bytes; lower if the pools together can hold less
     * @param directUsed the bytes of direct memory in use
     * @param directLimit the limit of direct memory in bytes; 0 or negative: none
     */
    public MemoryShare(List<HeapPool> heap, long heapLimit, LongSupplier directUsed, long directLimit) {
        this.heap = heap.stream().map(WatchedPool::new).toList();
        this.heapLimit = heapLimit;
        this.directUsed = directUsed;
        this.directLimit = directLimit;
    }

    /** The shares of this JVM. */
    static MemoryShare ofThisJvm() {
        List<HeapPool> heap = ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getType() == MemoryType.HEAP)
                .<HeapPool>map(JvmPool::of)
                .toList();
        List<BufferPoolMXBean> buffers = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .toList();
        // Neither figure includes the other: Netty can allocate buffers outside of the JDK's pool, and the
        // JDK outside of Netty's.
        LongSupplier used = () -> Math.max(
                PlatformDependent.usedDirectMemory(),
                buffers.stream().mapToLong(BufferPoolMXBean::getMemoryUsed).sum());
        return new MemoryShare(heap, Runtime.getRuntime().maxMemory(), used, PlatformDependent.maxDirectMemory());
    }

    /** Direct memory in use, in percent. */
    int directPercent() {
        return percent(directUsed.getAsLong(), directLimit);
    }

    /** The heap that survived collections, in percent; 0 if there were none recently. */
    int heapPercent(long nowNanos) {
        long surviving = 0;
        for (WatchedPool pool : heap) {
            surviving += pool.survivingBytes(nowNanos);
        }
        return percent(surviving, capacityBytes());
    }

    /** The pools' sizes change while the JVM runs. */
    private long capacityBytes() {
        long sum = 0;
        for (WatchedPool pool : heap) {
            long capacity = pool.pool.capacityBytes();
            if (capacity < 0) {
                return heapLimit;
            }
            sum += capacity;
        }
        return Math.min(sum, heapLimit);
    }

    private static int percent(long used, long limit) {
        return limit <= 0 ? 0 : (int) Math.ceil(PERCENT * Math.max(0, used) / limit);
    }

    /** A pool, its last two collections, and the time at which the last one was observed. */
    private static final class WatchedPool {

        private final HeapPool pool;
        private long survivedBefore;
        private long survived;
        private boolean isValid;
        private long observedAtNanos;

        WatchedPool(HeapPool pool) {
            this.pool = pool;
            this.survived = pool.survivingBytes();
        }

        /** The last collection, or the lower of the last two; 0 if the last one is too old. */
        long survivingBytes(long nowNanos) {
            long now = pool.survivingBytes();
            if (now != survived) {
                // Two collections practically never leave the same number of bytes.
                survivedBefore = survived;
                survived = now;
                isValid = true;
                observedAtNanos = nowNanos;
            } else if (nowNanos - observedAtNanos >= TimeUnit.SECONDS.toNanos(VALID_SECONDS)) {
                isValid = false;
            }
            long surviving = pool.mayHoldGarbage() ? Math.min(survivedBefore, survived) : survived;
            return isValid ? Math.max(0, surviving) : 0;
        }
    }
}
