package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.result.PromiseTable;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Figures with tenants, and {@code --without tenants}, where all callers get the same share. */
class TenantFiguresTest {

    private static final TenantFigures WITH = new TenantFigures(100, 97, 98, 98, 20_000, 2000, 1.5);
    private static final TenantFigures WITHOUT = new TenantFigures(22, 65, 98, 98, 20_000, 0, 1.5);

    private static List<String> broken(TenantFigures figures, boolean quick) {
        PromiseTable promises = new PromiseTable();
        figures.judge(quick, promises);
        return promises.broken();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void breaksPromisesOnlyWithoutTenants(boolean quick) {
        assertThat(broken(WITH, quick)).isEmpty();
        assertThat(broken(WITHOUT, quick))
                .containsExactly(
                        "within their share, beside 70 % of 4 x: answered, the least",
                        "with more than its share: answered, of its share");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void breaksAPromiseIfNamesTakeMemoryOrATenantIsHeldToItsShare(boolean quick) {
        TenantFigures unbounded = new TenantFigures(100, 97, 98, 30, 1_000_000, 1_000_000, 90);

        assertThat(broken(unbounded, quick))
                .containsExactly(
                        "one tenant alone, 4 x: answered, of the capacity",
                        "1000000 names: counted one by one",
                        "1000000 names: growth of the heap");
    }
}
