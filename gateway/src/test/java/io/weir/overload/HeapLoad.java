package io.weir.overload;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.random.RandomGenerator;

/**
 * The main class of {@link HeapShareIT}'s processes: allocates like a busy gateway and prints the largest
 * heap share.
 */
final class HeapLoad {

    private static final int BLOCK_BYTES = 64 << 10;
    private static final int REQUEST_BYTES = 2_000;
    private static final int BATCH = 100;
    /** 260 MB/s, which a gateway allocates at 20 000 requests/s. */
    private static final long NANOS_PER_BATCH = 770_000;
    /** 3 % of the allocated bytes stay, in a load that grows. */
    private static final int BATCHES_PER_BLOCK = 10;
    /** Objects that survive for a while, as those of requests in flight do. */
    private static final int IN_FLIGHT = 5_000;

    private final MemoryShare share = MemoryShare.ofThisJvm();
    private final RandomGenerator random = RandomGenerator.of("L64X128MixRandom");
    private final byte[][] inFlight = new byte[IN_FLIGHT][];
    private final List<byte[]> live = new ArrayList<>();
    private long sampledAtNanos = System.nanoTime();
    private int largestPercent;

    private HeapLoad() {}

    /**
     * Runs one load.
     *
     * @param arguments {@code steady}, the live set in percent of the heap and the seconds; or
     *     {@code growing}
     */
    public static void main(String... arguments) {
        HeapLoad load = new HeapLoad();
        if (arguments[0].equals("steady")) {
            load.runSteady(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
        } else {
            load.runGrowing();
        }
    }

    private void runSteady(int livePercent, int seconds) {
        long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        grow(Runtime.getRuntime().maxMemory() * livePercent / 100);
        long nextNanos = System.nanoTime();
        while (System.nanoTime() - endNanos < 0) {
            serveRequests();
            nextNanos += NANOS_PER_BATCH;
            LockSupport.parkNanos(nextNanos - System.nanoTime());
        }
        System.out.println("largest " + largestPercent);
    }

    private void runGrowing() {
        try {
            while (true) {
                live.add(new byte[BLOCK_BYTES]);
                for (int i = 0; i < BATCHES_PER_BLOCK; i++) {
                    serveRequests();
                }
            }
        } catch (OutOfMemoryError e) {
            live.clear();
            System.out.println("largest " + largestPercent);
        }
    }

    private void grow(long bytes) {
        for (long allocated = 0; allocated < bytes; allocated += BLOCK_BYTES) {
            live.add(new byte[BLOCK_BYTES]);
        }
    }

    private void serveRequests() {
        for (int i = 0; i < BATCH; i++) {
            inFlight[random.nextInt(IN_FLIGHT)] = new byte[REQUEST_BYTES];
        }
        long now = System.nanoTime();
        if (now - sampledAtNanos >= TimeUnit.MILLISECONDS.toNanos(OverloadSampler.PERIOD_MILLIS)) {
            sampledAtNanos = now;
            largestPercent = Math.max(largestPercent, share.heapPercent(now));
        }
    }
}
