package io.weir.sim.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.time.Duration;
import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.api.Test;

class WorkPoolStatisticsTest {

    private long now = 1_000;
    private final WorkPoolStatistics statistics = new WorkPoolStatistics(Duration.ofSeconds(10), () -> now);

    private void at(double seconds) {
        now = 1_000 + (long) (seconds * 1e9);
    }

    private void retired(double queued, double served) {
        statistics.retired((long) (queued * 1e9), (long) (served * 1e9));
    }

    @Test
    void averagesAreZeroBeforeTheFirstRequest() {
        assertThat(statistics.averages()).isEqualTo(new WorkPoolStatistics.Averages(0, 0, 0, 0, 0));
    }

    @Test
    void multipliesRateAndTime() {
        // Every half second a request arrives, waits 0.1 s and is served for 0.3 s: 2/s times 0.4 s.
        for (int i = 0; i < 20; i++) {
            at(i * 0.5);
            statistics.arrived();
            at(i * 0.5 + 0.4);
            retired(0.1, 0.3);
        }
        at(9.999);

        WorkPoolStatistics.Averages averages = statistics.averages();
        assertThat(averages.arrivalRate()).isCloseTo(2, within(0.01));
        assertThat(averages.timeInQueue()).isCloseTo(0.1, within(1e-9));
        assertThat(averages.serviceTime()).isCloseTo(0.3, within(1e-9));
        assertThat(averages.responseTime()).isCloseTo(0.4, within(1e-9));
        assertThat(averages.averageActive()).isCloseTo(0.8, within(0.01));
        assertThat(averages.deadTimeRatio()).isCloseTo(0.25, within(1e-9));
        assertThat(statistics.totalRetired()).isEqualTo(20);
    }

    @Test
    void agreesWithIndependentlyCountedConcurrencyOverARandomHour() {
        // Poisson arrivals at 5/s, exponential service of 0.6 s, unlimited servers: L is 3.
        WorkPoolStatistics hour = new WorkPoolStatistics(Duration.ofHours(1), () -> now);
        Random random = new Random(3);
        PriorityQueue<double[]> leaving =
                new PriorityQueue<>(java.util.Comparator.comparingDouble((double[] one) -> one[0]));
        double time = 0;
        double area = 0;
        double last = 0;
        while (time < 3_590) {
            time += -Math.log(1 - random.nextDouble()) / 5;
            while (!leaving.isEmpty() && leaving.peek()[0] <= time) {
                double[] one = leaving.remove();
                area += (leaving.size() + 1) * (one[0] - last);
                last = one[0];
                at(one[0]);
                hour.retired(0, (long) (one[1] * 1e9));
            }
            area += leaving.size() * (time - last);
            last = time;
            at(time);
            hour.arrived();
            double service = -Math.log(1 - random.nextDouble()) * 0.6;
            leaving.add(new double[] {time + service, service});
        }

        assertThat(hour.averages().averageActive()).isCloseTo(area / time, within(0.01));
        assertThat(hour.averages().averageActive()).isCloseTo(3, within(0.15));
    }

    @Test
    void forgetsRequestsThatLeftTheWindow() {
        statistics.arrived();
        retired(5, 5);
        at(5);
        statistics.arrived();
        retired(0.1, 0.1);
        assertThat(statistics.averages().responseTime()).isCloseTo(5.1, within(1e-9));

        at(12);
        assertThat(statistics.averages().responseTime()).isCloseTo(0.2, within(1e-9));
        at(100);
        assertThat(statistics.averages()).isEqualTo(new WorkPoolStatistics.Averages(0, 0, 0, 0, 0));
        assertThat(statistics.totalRetired()).isEqualTo(2);
    }

    @Test
    void refusedRequestDoesNotCountAsArrival() {
        statistics.arrived();
        statistics.arrived();
        statistics.refused();
        at(1);
        retired(0, 1);

        assertThat(statistics.averages().arrivalRate()).isCloseTo(1, within(1e-9));
    }
}
