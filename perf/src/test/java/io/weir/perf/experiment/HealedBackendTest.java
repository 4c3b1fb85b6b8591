package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class HealedBackendTest {

    /** A request every 10 ms from the heal at 1000; those before the given time fail. */
    private static List<Request> servedFrom(long atMillis, int count) {
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long at = 1000 + 10L * i;
            requests.add(new Request("", at, 100, "caller", at < atMillis ? "circuit-open" : Request.SUCCESS));
        }
        return requests;
    }

    @Test
    void recoversAtTheFirstOfAHundredConsecutiveSuccesses() {
        assertThat(HealedBackend.secondsUntilServed(new Requests(servedFrom(1250, 300)), 1000))
                .isEqualTo(0.25);
    }

    @Test
    void oneFailureInAHundredIsNoRelapse() {
        List<Request> requests = servedFrom(1250, 300);
        requests.set(60, new Request("", 1600, 100, "caller", "deadline-exceeded"));

        assertThat(HealedBackend.secondsUntilServed(new Requests(requests), 1000))
                .isEqualTo(0.25);
    }

    @Test
    void relapseDelaysTheRecovery() {
        List<Request> requests = servedFrom(1250, 300);
        for (int i = 60; i < 70; i++) {
            requests.set(i, new Request("", 1000 + 10L * i, 100, "caller", "deadline-exceeded"));
        }

        // One of a hundred may fail: the last failure of the relapse.
        assertThat(HealedBackend.secondsUntilServed(new Requests(requests), 1000))
                .isEqualTo(0.7);
    }

    @Test
    void isNaNWithoutRecovery() {
        assertThat(HealedBackend.secondsUntilServed(new Requests(servedFrom(9000, 300)), 1000))
                .isNaN();
    }
}
