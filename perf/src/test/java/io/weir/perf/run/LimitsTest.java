package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LimitsTest {

    private static List<Integer> cores(int count) {
        return IntStream.range(0, count).boxed().toList();
    }

    @Test
    void givesEachItsOwnCoresWhereThereAreEnough() {
        Limits limits = Limits.divide(cores(16), 4, 3, true, true);

        assertThat(limits.processes()).containsExactly(List.of(0, 1, 2, 3), List.of(4, 5, 6, 7), List.of(8, 9, 10, 11));
        assertThat(limits.generator()).containsExactly(12, 13, 14, 15);
        assertThat(limits.granted()).isEqualTo(4);
        assertThat(limits.how()).isEqualTo(Limits.How.AFFINITY);
        assertThat(limits.quota()).isFalse();
        assertThat(limits.sentence()).contains("4 cores of its own", "the other 4 of the host's 16");
    }

    @Test
    void keepsSomeForTheGeneratorWhereTheOthersHaveToShare() {
        Limits limits = Limits.divide(cores(8), 4, 3, true, true);

        assertThat(limits.processes()).containsOnly(cores(6));
        assertThat(limits.generator()).containsExactly(6, 7);
        assertThat(limits.granted()).isEqualTo(4);
        assertThat(limits.how()).isEqualTo(Limits.How.QUOTA);
        assertThat(limits.sentence()).contains("4 cores' worth each", "they shared 6", "had 2 of its own");
    }

    @Test
    void limitsByRangesThatOverlapWhereThereAreNoCgroups() {
        Limits limits = Limits.divide(cores(8), 4, 3, true, false);

        assertThat(limits.processes()).containsExactly(List.of(0, 1, 2, 3), List.of(2, 3, 4, 5), List.of(4, 5, 0, 1));
        assertThat(limits.how()).isEqualTo(Limits.How.AFFINITY);
    }

    @Test
    void takesWhatThereIs() {
        Limits limits = Limits.divide(cores(2), 4, 3, true, true);

        assertThat(limits.processes()).hasSize(3).containsOnly(List.of());
        assertThat(limits.granted()).isEqualTo(2);
        assertThat(limits.generatorsOwn()).isFalse();
        assertThat(limits.sentence())
                .contains(
                        "The host has 2 cores",
                        "shared them all, the generator before the others, and these with equal weights");
    }

    @Test
    void saysThatNothingLimitsWhereNothingCan() {
        Limits limits = Limits.divide(cores(32), 4, 3, false, false);

        assertThat(limits.how()).isEqualTo(Limits.How.NONE);
        assertThat(limits.granted()).isEqualTo(4);
    }

    @Test
    void givesOneCoreToOneProcess() {
        assertThat(Limits.divide(cores(2), 1, 1, true, true).sentence())
                .isEqualTo(
                        "Each process under test had one core of its own, and the generator the other 1 of the host's 2.");
    }

    @Test
    void knowsNothingOfWhatRunsElsewhere() {
        Limits limits = Limits.ofGenerator(cores(2));

        assertThat(limits.generator()).containsExactly(0, 1);
        assertThat(limits.sentence()).contains("ran elsewhere", "the generator had the 2 cores");
    }
}
