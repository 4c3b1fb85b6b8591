package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.HandedOverSamples.Sample;
import io.weir.limit.Limit.Evidence;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class HandedOverSamplesTest {

    private final HandedOverSamples samples = new HandedOverSamples();

    private void add(long nowNanos) {
        samples.add(nowNanos, 0, 1, Evidence.ANSWERED, 1);
    }

    @Test
    void areTakenOnceInTheOrderInWhichTheyWereAdded() {
        LongStream.of(3, 1, 2).forEach(this::add);

        assertThat(samples.takeAll()).extracting(Sample::nowNanos).containsExactly(3L, 1L, 2L);
        assertThat(samples.takeAll()).isEmpty();
    }

    @Test
    void areDroppedWhenTooManyWait() {
        LongStream.rangeClosed(0, HandedOverSamples.MAX_SAMPLES).forEach(this::add);

        Sample[] taken = samples.takeAll();
        assertThat(taken).hasSize(HandedOverSamples.MAX_SAMPLES);
        assertThat(taken[0].nowNanos()).isZero();

        add(7);
        assertThat(samples.takeAll()).extracting(Sample::nowNanos).containsExactly(7L);
    }
}
