package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class CpuAllocationTest {

    private static List<Integer> cores(int count) {
        return IntStream.range(0, count).boxed().toList();
    }

    @Test
    void givesEachProcessItsOwnCoresIfThereAreEnough() {
        CpuAllocation allocation = CpuAllocation.divide(cores(16), 4, 3, true, true);

        assertThat(allocation.processes())
                .containsExactly(List.of(0, 1, 2, 3), List.of(4, 5, 6, 7), List.of(8, 9, 10, 11));
        assertThat(allocation.generator()).containsExactly(12, 13, 14, 15);
        assertThat(allocation.granted()).isEqualTo(4);
        assertThat(allocation.method()).isEqualTo(CpuAllocation.Method.AFFINITY);
        assertThat(allocation.quota()).isFalse();
        assertThat(allocation.sentence()).contains("4 cores of its own", "the other 4 of the host's 16");
    }

    @Test
    void reservesCoresForTheGeneratorIfTheOthersMustShare() {
        CpuAllocation allocation = CpuAllocation.divide(cores(8), 4, 3, true, true);

        assertThat(allocation.processes()).containsOnly(cores(6));
        assertThat(allocation.generator()).containsExactly(6, 7);
        assertThat(allocation.granted()).isEqualTo(4);
        assertThat(allocation.method()).isEqualTo(CpuAllocation.Method.QUOTA);
        assertThat(allocation.sentence()).contains("4 cores' worth each", "they shared 6", "had 2 of its own");
    }

    @Test
    void limitsByOverlappingRangesWithoutCgroups() {
        CpuAllocation allocation = CpuAllocation.divide(cores(8), 4, 3, true, false);

        assertThat(allocation.processes())
                .containsExactly(List.of(0, 1, 2, 3), List.of(2, 3, 4, 5), List.of(4, 5, 0, 1));
        assertThat(allocation.method()).isEqualTo(CpuAllocation.Method.AFFINITY);
    }

    @Test
    void sharesAllCoresOfSmallHost() {
        CpuAllocation allocation = CpuAllocation.divide(cores(2), 4, 3, true, true);

        assertThat(allocation.processes()).hasSize(3).containsOnly(List.of());
        assertThat(allocation.granted()).isEqualTo(2);
        assertThat(allocation.generatorHasOwnCores()).isFalse();
        assertThat(allocation.sentence())
                .contains(
                        "The host has 2 cores",
                        "shared them all, the generator with priority, the others with equal weights");
    }

    @Test
    void limitsNothingWithoutAffinityAndCgroups() {
        CpuAllocation allocation = CpuAllocation.divide(cores(32), 4, 3, false, false);

        assertThat(allocation.method()).isEqualTo(CpuAllocation.Method.NONE);
        assertThat(allocation.granted()).isEqualTo(4);
    }

    @Test
    void givesOneCoreToSingleProcess() {
        assertThat(CpuAllocation.divide(cores(2), 1, 1, true, true).sentence())
                .isEqualTo(
                        "Each process under test had one core of its own, and the generator the other 1 of the host's 2.");
    }

    @Test
    void givesAllCoresToTheGeneratorOfRemoteTarget() {
        CpuAllocation allocation = CpuAllocation.generatorOnly(cores(2));

        assertThat(allocation.generator()).containsExactly(0, 1);
        assertThat(allocation.sentence()).contains("ran elsewhere", "the generator had the 2 cores");
    }
}
