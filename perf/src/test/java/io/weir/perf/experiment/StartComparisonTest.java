package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.experiment.StartMeasurement.RampSecond;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.PeerProxy.Places;
import java.util.List;
import org.junit.jupiter.api.Test;

class StartComparisonTest {

    private static final Places PLACES = new Places(39_101, 39_102, 39_103, 39_104, 39_105, 1, 1000);

    private static Requests requests(Request... requests) {
        return new Requests(List.of(requests));
    }

    private static Request request(int millis, String outcome) {
        return new Request("1", 0, 1000L * millis, "/served/weir", outcome);
    }

    @Test
    void aSlowSuccessIsLate() {
        Requests requests = requests(request(800, Request.SUCCESS), request(801, Request.SUCCESS));

        assertThat(StartMeasurement.late(requests)).isEqualTo(1);
        assertThat(StartMeasurement.refused(requests)).isZero();
    }

    @Test
    void aTimeoutIsLateAndNotRefused() {
        Requests requests =
                requests(request(2000, "timeout"), request(700, "deadline-exceeded"), request(700, "status-504"));

        assertThat(StartMeasurement.late(requests)).isEqualTo(3);
        assertThat(StartMeasurement.refused(requests)).isZero();
    }

    @Test
    void anyOtherAnswerInTimeIsRefused() {
        Requests requests = requests(request(1, "bulkhead-full"), request(1, "status-503"), request(5, "reset"));

        assertThat(StartMeasurement.refused(requests)).isEqualTo(3);
        assertThat(StartMeasurement.late(requests)).isZero();
    }

    @Test
    void theRampEndsWithTheFirstSecondOfThatRate() {
        List<RampSecond> ramp = List.of(new RampSecond(1.1, 100), new RampSecond(2.2, 600), new RampSecond(3.3, 500));

        assertThat(StartMeasurement.secondsTo(500, ramp)).isEqualTo(2.2);
        assertThat(StartMeasurement.secondsTo(601, ramp)).isNaN();
    }

    @Test
    void writesEveryRouteAndSpreadsThemOverTheBackends() {
        String text = new StartConfiguration(5, 2).text(PLACES);

        assertThat(text.lines().filter(line -> line.contains("predicates"))).hasSize(5);
        assertThat(text).contains("id: r4, uri: \"backend://b0\"", "Path=/r4/**");
        assertThat(text.lines().filter(line -> line.contains("http://127.0.0.1:39103")))
                .hasSize(2);
    }
}
