package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.management.BackendView;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SeverityTest {

    private static final int MANY = 1_000;

    @ParameterizedTest
    @CsvSource({
        // state, share of trouble, active, waiting, overdue, word, score
        "open, 1, 0, 0, 0, open, 100",
        "open, 0, 0, 0, 0, open, 80",
        "half-open, 0, 1, 0, 0, half-open, 75",
        "forced-open, 0, 0, 0, 0, forced-open, 60",
        "forced-closed, 0, 0, 0, 0, forced-closed, 60",
        "forced-closed, 1, 0, 0, 0, failing, 75",
        "closed, 0.2, 1, 0, 0, failing, 47",
        "closed, 0, 9, 3, 2, hanging, 30",
        "closed, 0, 10, 3, 0, queueing, 25",
        "closed, 0, 10, 0, 0, full, 20",
        "closed, 0, 9, 0, 0, calm, 0"
    })
    void ratesTheWorstProblem(
            String state, double share, int active, int waiting, int overdue, String word, int score) {
        assertThat(of(view(state, active, waiting, overdue), share)).isEqualTo(new Severity(score, word));
    }

    @Test
    void ratesFailuresAboveEarlySigns() {
        assertThat(of(view("closed", 1, 0, 0), 0.01).score())
                .isGreaterThan(of(view("closed", 10, 10, 10), 0).score());
    }

    @ParameterizedTest
    @CsvSource({"open, instance-out", "half-open, instance-out", "drained, calm", "closed, calm"})
    void ratesAnEjectedInstance(String state, String word) {
        assertThat(of(view("closed", 0, 0, 0, List.of(instance("closed"), instance(state))), 0)
                        .word())
                .isEqualTo(word);
    }

    @ParameterizedTest
    @CsvSource({
        // own, utilisation, calls per second, active, word
        "2, 0.9, 20, 1, limit-at-floor",
        "2, 0.9, 20, 2, limit-at-floor",
        "40, 0.9, 20, 1, limit-at-ceiling",
        "40, 0.9, 20, 40, limit-at-ceiling",
        "12, 0.9, 20, 1, calm",
        "2, 0.4, 20, 1, calm",
        "40, 0.4, 20, 1, calm",
        "2, 0.9, 0.05, 0, calm"
    })
    void ratesALimitThatItsBoundsHoldBackOnlyIfCallsKeepItReached(
            int own, double utilisation, double perSecond, int active, String word) {
        TestViews view =
                new TestViews().auto(own, 2, 40, utilisation).calls(active, 0).arriving(perSecond, 0);
        assertThat(of(view.view(), 0).word()).isEqualTo(word);
        assertThat(of(view.view(), 0.01).word()).isEqualTo("failing");
    }

    @Test
    void ratesNoFixedLimitAsHeldBack() {
        assertThat(of(new TestViews().fixed(2).arriving(20, 0).view(), 0)).isEqualTo(Severity.NONE);
    }

    /** One failed call of few is no sign that the backend is down. */
    @ParameterizedTest
    @CsvSource({
        // shed or failed, all, score
        "1, 1, 42",
        "2, 2, 44",
        "1, 20, 42",
        "10, 10, 58",
        "20, 20, 75",
        "1000, 1000, 75"
    })
    void countsFewExchangesAsTwenty(int troubled, int ended, int score) {
        assertThat(Severity.of(view("closed", 0, 0, 0), troubled, ended)).isEqualTo(new Severity(score, "failing"));
    }

    @Test
    void ratesAnOpenBreakerOfAnIdleBackendAsOpen() {
        assertThat(Severity.of(view("open", 0, 0, 0), 1, 1)).isEqualTo(new Severity(81, "open"));
    }

    /** Many exchanges, of which this share was shed or failed. */
    private static Severity of(BackendView view, double share) {
        return Severity.of(view, Math.round(share * MANY), MANY);
    }

    private static BackendView.InstanceView instance(String state) {
        return TestViews.instance("http://10.0.0.1:80", state);
    }

    private static BackendView view(String state, int active, int waiting, int overdue) {
        return view(state, active, waiting, overdue, null);
    }

    private static BackendView view(
            String state, int active, int waiting, int overdue, @Nullable List<BackendView.InstanceView> instances) {
        return new TestViews()
                .fixed(10)
                .breaker(state, overdue)
                .calls(active, waiting)
                .instances(instances)
                .view();
    }
}
