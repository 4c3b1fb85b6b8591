package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.run.Request;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RecoveryTest {

    /** A request every 10 ms from the heal at 1000 on; those until then fail. */
    private static List<Request> servedFrom(long atMillis, int count) {
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long at = 1000 + 10L * i;
            requests.add(new Request(at, 100, "caller", at < atMillis ? "circuit-open" : Request.SUCCESS));
        }
        return requests;
    }

    @Test
    void recoveredIsTheFirstOfAHundredInARow() {
        assertThat(Recovery.secondsUntilServed(servedFrom(1250, 300), 1000)).isEqualTo(0.25);
    }

    @Test
    void aFailureNowAndThenIsNoRelapse() {
        List<Request> requests = servedFrom(1250, 300);
        requests.set(60, new Request(1600, 100, "caller", "deadline-exceeded"));

        assertThat(Recovery.secondsUntilServed(requests, 1000)).isEqualTo(0.25);
    }

    @Test
    void aRelapseIsNoRecovery() {
        List<Request> requests = servedFrom(1250, 300);
        for (int i = 60; i < 70; i++) {
            requests.set(i, new Request(1000 + 10L * i, 100, "caller", "deadline-exceeded"));
        }

        // Nearly: one of a hundred may fail, and that is the last of these.
        assertThat(Recovery.secondsUntilServed(requests, 1000)).isEqualTo(0.7);
    }

    @Test
    void theMedianOfTwoIsBetweenThem() {
        assertThat(Recovery.median(List.of(4.0, 1.0))).isEqualTo(2.5);
        assertThat(Recovery.median(List.of(4.0, 1.0, 2.0))).isEqualTo(2);
        assertThat(Recovery.median(List.of(4.0))).isEqualTo(4);
    }

    @Test
    void neverIsNotANumber() {
        assertThat(Recovery.secondsUntilServed(servedFrom(9000, 300), 1000)).isNaN();
    }
}
