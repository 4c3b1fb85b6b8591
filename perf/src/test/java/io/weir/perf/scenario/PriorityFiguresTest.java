package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.scenario.PriorityFigures.ByClass;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Figures with classes, and {@code --without priorities}, where all classes get the same share. */
class PriorityFiguresTest {

    private static final PriorityFigures WITH = new PriorityFigures(
            new ByClass(100, 46.2, 1.0), 98, 2.4, 97.5, 97.9, new ByClass(20, 3, 0.4), new ByClass(96, 40, 2));
    private static final PriorityFigures WITHOUT = new PriorityFigures(
            new ByClass(24.3, 24.6, 24.4), 34, 58, 97.5, 97.9, new ByClass(0, 6, 0), new ByClass(22, 23, 22.5));

    private static List<String> broken(PriorityFigures figures, boolean quick) {
        PromiseTable promises = new PromiseTable();
        figures.judge(quick, promises);
        return promises.broken();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void breaksPromisesOnlyWithoutPriorities(boolean quick) {
        assertThat(broken(WITH, quick)).isEmpty();
        assertThat(broken(WITHOUT, quick))
                .containsExactly(
                        "critical, 4 x the capacity: answered in time",
                        "normal: answered, of what critical calls and the reserve leave",
                        "hang: permits for a hundred calls, by class",
                        "from the heal on: critical answered in time",
                        "from the heal on: answered in time, by class");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void breaksAPromiseIfTheLowestClassStarvesOrAnswersAreLost(boolean quick) {
        PriorityFigures starved = new PriorityFigures(WITH.answered(), 98, .1, 80, 97.9, WITH.permits(), WITH.healed());

        assertThat(broken(starved, quick))
                .containsExactly(
                        "sheddable: answered, of the capacity",
                        "all: answered fewer than without classes, of the capacity");
    }
}
