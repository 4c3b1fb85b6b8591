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

    private record FakePool(AtomicLong bytes, long limitBytes) implements MemoryShare.HeapPool {

        @Override
        public long survivingBytes() {
            return bytes.get();
        }
    }

    private final AtomicLong direct = new AtomicLong();
    private final AtomicLong old = new AtomicLong(700);
    private final AtomicLong large = new AtomicLong(10);
    private final MemoryShare share =
            new MemoryShare(List.of(new FakePool(old, 1_000), new FakePool(large, 10_000)), direct::get, 400);

    @Test
    void reportsDirectMemoryInPercent() {
        assertThat(share.directPercent()).isZero();
        direct.set(361);
        assertThat(share.directPercent()).isEqualTo(91);
        direct.set(-1);
        assertThat(share.directPercent()).isZero();
    }

    @Test
    void reportsZeroWithoutALimitOfDirectMemory() {
        assertThat(new MemoryShare(List.of(), () -> 1_000, 0).directPercent()).isZero();
    }

    @Test
    void ignoresTheHeapBeforeTheFirstObservedCollection() {
        assertThat(share.heapPercent(0)).isZero();
    }

    @Test
    void reportsBytesThatSurvivedTheLastCollection() {
        old.set(950);

        assertThat(share.heapPercent(SECOND)).isEqualTo(95);
        assertThat(share.heapPercent(2 * SECOND)).isEqualTo(95);

        old.set(300);
        assertThat(share.heapPercent(3 * SECOND)).isEqualTo(30);
    }

    @Test
    void reportsTheFullestPool() {
        old.set(500);
        large.set(6_000);

        assertThat(share.heapPercent(SECOND)).isEqualTo(60);
    }

    @Test
    void forgetsACollectionAfterItsValidity() {
        old.set(950);
        share.heapPercent(SECOND);

        assertThat(share.heapPercent((MemoryShare.VALID_SECONDS + 1) * SECOND - 1))
                .isEqualTo(95);
        assertThat(share.heapPercent((MemoryShare.VALID_SECONDS + 1) * SECOND)).isZero();
        // It remains forgotten until the next collection, whatever the clock shows.
        assertThat(share.heapPercent(SECOND)).isZero();

        old.set(951);
        assertThat(share.heapPercent(20 * SECOND)).isEqualTo(96);
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
    void reportsTheSurvivingHeapOfThisJvm() {
        MemoryShare ofThisJvm = MemoryShare.ofThisJvm();

        System.gc();

        assertThat(ofThisJvm.heapPercent(0)).isBetween(1, 90);
    }
}
