package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.internal.PlatformDependent;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class MemoryShareTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final AtomicLong direct = new AtomicLong();
    private final AtomicLong old = new AtomicLong(-1);
    private final AtomicLong young = new AtomicLong(-1);
    private final MemoryShare share = new MemoryShare(List.of(old::get, young::get), 1_000, direct::get, 400);

    @Test
    void returnsTheShareOfDirectMemory() {
        assertThat(share.directPercent()).isZero();
        direct.set(361);
        assertThat(share.directPercent()).isEqualTo(91);
        direct.set(-1);
        assertThat(share.directPercent()).isZero();
    }

    @Test
    void returnsZeroForDirectMemoryWithoutALimit() {
        assertThat(new MemoryShare(List.of(), 1_000, () -> 1_000, 0).directPercent())
                .isZero();
    }

    @Test
    void returnsZeroBeforeTheFirstCollection() {
        assertThat(share.heapPercent(0)).isZero();
    }

    @Test
    void countsTheLowerOfTheLastTwoCollections() {
        collect(old, 950, SECOND);
        assertThat(share.heapPercent(SECOND)).isZero();

        collect(old, 960, 2 * SECOND);
        assertThat(share.heapPercent(2 * SECOND)).isEqualTo(95);

        collect(old, 300, 3 * SECOND);
        assertThat(share.heapPercent(3 * SECOND)).isEqualTo(30);
    }

    @Test
    void countsTheLastCollectionOfACollectorThatStopsTheWorld() {
        MemoryShare.HeapPool pool = pool(old, false, -1);
        MemoryShare ofPool = new MemoryShare(List.of(pool), 1_000, direct::get, 400);

        old.set(860);

        assertThat(ofPool.heapPercent(SECOND)).isEqualTo(86);
    }

    @Test
    void comparesWithWhatThePoolsCanHoldTogether() {
        AtomicLong survivor = new AtomicLong(-1);
        MemoryShare ofPools = new MemoryShare(
                List.of(pool(old, false, 600), pool(young, false, 300), pool(survivor, false, 0)),
                1_000,
                direct::get,
                400);

        old.set(600);
        young.set(210);
        survivor.set(0);

        assertThat(ofPools.heapPercent(SECOND)).isEqualTo(90);
    }

    @Test
    void comparesWithTheHeapIfItsPoolsHaveNoLimitsOfTheirOwn() {
        MemoryShare shared =
                new MemoryShare(List.of(pool(old, false, 1_000), pool(young, false, 1_000)), 1_000, direct::get, 400);
        MemoryShare unlimited =
                new MemoryShare(List.of(pool(old, false, 600), pool(young, false, -1)), 1_000, direct::get, 400);

        old.set(500);

        assertThat(shared.heapPercent(SECOND)).isEqualTo(50);
        assertThat(unlimited.heapPercent(SECOND)).isEqualTo(50);
    }

    private static MemoryShare.HeapPool pool(AtomicLong surviving, boolean mayHoldGarbage, long capacity) {
        return new MemoryShare.HeapPool() {
            @Override
            public long survivingBytes() {
                return surviving.get();
            }

            @Override
            public boolean mayHoldGarbage() {
                return mayHoldGarbage;
            }

            @Override
            public long capacityBytes() {
                return capacity;
            }
        };
    }

    @Test
    void comparesTheSumOfThePoolsWithTheWholeHeap() {
        collect(old, 500, SECOND);
        collect(old, 501, SECOND);
        collect(young, 99, SECOND);
        collect(young, 100, SECOND);

        assertThat(share.heapPercent(SECOND)).isEqualTo(60);
    }

    @Test
    void forgetsACollectionThatNoOtherFollows() {
        collect(old, 950, SECOND);
        collect(old, 951, SECOND);

        assertThat(share.heapPercent((MemoryShare.VALID_SECONDS + 1) * SECOND - 1))
                .isEqualTo(95);
        assertThat(share.heapPercent((MemoryShare.VALID_SECONDS + 1) * SECOND)).isZero();
        // Also if the clock jumps back.
        assertThat(share.heapPercent(SECOND)).isZero();

        collect(old, 952, 20 * SECOND);
        assertThat(share.heapPercent(20 * SECOND)).isEqualTo(96);
    }

    private void collect(AtomicLong pool, long survivedBytes, long nowNanos) {
        pool.set(survivedBytes);
        share.heapPercent(nowNanos);
    }

    @Test
    void readsThisJvm() {
        MemoryShare ofThisJvm = MemoryShare.ofThisJvm();
        long bytes = PlatformDependent.maxDirectMemory() / 20;
        int before = ofThisJvm.directPercent();

        ByteBuf buffer = ByteBufAllocator.DEFAULT.directBuffer((int) Math.min(bytes, 256 << 20));
        try {
            assertThat(ofThisJvm.directPercent()).isBetween(Math.max(1, before), 100);
        } finally {
            buffer.release();
        }
        assertThat(ofThisJvm.heapPercent(0)).isBetween(0, 100);
    }

    @Test
    void findsTheHeapThatSurvivesInThisJvm() {
        MemoryShare ofThisJvm = MemoryShare.ofThisJvm();

        for (int i = 0; i < 3; i++) {
            System.gc();
            ofThisJvm.heapPercent(0);
        }

        assertThat(ofThisJvm.heapPercent(0)).isBetween(1, 90);
    }
}
