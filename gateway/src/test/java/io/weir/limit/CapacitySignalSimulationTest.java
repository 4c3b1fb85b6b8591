package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.weir.capacity.CapacitySignal;
import io.weir.capacity.CapacitySignalProperties;
import io.weir.capacity.StatedCapacity;
import io.weir.limit.LimitSimulation.Kind;
import io.weir.limit.LimitSimulation.Phase;
import io.weir.limit.LimitSimulation.Service;
import io.weir.limit.LimitSimulation.Setup;
import java.util.Locale;
import java.util.function.DoubleToIntFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Backends of one to four slow workers and a queue of their own, which state their capacity with each answer,
 * at four times that capacity: as {@link LimitCases}, for which the limit finds the number by itself.
 */
@Tag("full")
@Tag("simulation")
class CapacitySignalSimulationTest {

    private static final double DEADLINE = .8;
    private static final double CALM = 5;
    private static final double OVERLOAD = 30;
    private static final int SILENT = -1;
    private static final String FIELD = "weir-capacity";

    /** What the backend says with an answer; null: nothing. */
    private interface Says {

        @Nullable
        String text(double at, int inBackend);
    }

    private static Says number(DoubleToIntFunction says) {
        return (at, inBackend) -> {
            int number = says.applyAsInt(at);
            return number == SILENT ? null : String.valueOf(number);
        };
    }

    /** The goodput in the overload as a share of the capacity: the median of five runs. */
    private static double goodput(int workers, double service, Service distribution, Says says) {
        return goodput(workers, service, distribution, says, 1);
    }

    private static double goodput(int workers, double service, Service distribution, Says says, int phase) {
        double[] shares = LimitCases.SEEDS.stream()
                .mapToDouble(seed -> {
                    LimitSimulation run = setup(workers, service, distribution, says)
                            .seed(seed)
                            .run();
                    return run.results.get(phase).goodput / run.possible(phase, workers / service);
                })
                .sorted()
                .toArray();
        double median = shares[shares.length / 2];
        System.out.printf(
                Locale.ROOT,
                "%d x %.0f ms, %s, phase %d: %.3f of the capacity%n",
                workers,
                1e3 * service,
                distribution,
                phase,
                median);
        return median;
    }

    /** Calm, overload while the backend states, and overload afterwards. */
    private static Setup setup(int workers, double service, Service distribution, Says says) {
        StatedCapacity[] capacity = new StatedCapacity[1];
        double rate = workers / service;
        Setup setup = new Setup()
                .backend(Kind.FIFO, workers, service, distribution)
                .phases(new Phase(CALM, .5 * rate), new Phase(OVERLOAD, 4 * rate), new Phase(OVERLOAD, 4 * rate))
                .limit((deadline, gateway, onChange) -> {
                    CapacitySignal signal = new CapacitySignal(() -> {});
                    signal.configure(new CapacitySignalProperties(FIELD, null));
                    StatedCapacity stated = new StatedCapacity(signal);
                    capacity[0] = stated;
                    Limit learnt = LimitCases.adaptive().create(deadline, gateway, onChange);
                    return new StatedLimit(
                            learnt,
                            LimitBounds.DEFAULT,
                            (long) (deadline * 1e9),
                            (number, now) -> (int) stated.part(number, now),
                            onChange);
                })
                .statement((limit, inUse, inBackend, onChange, nowNanos) -> {
                    String said = says.text(nowNanos / 1e9, inBackend);
                    if (said != null) {
                        capacity[0].read(new DefaultHttpHeaders().set(FIELD, said), inUse, nowNanos);
                        if (limit.look(nowNanos)) {
                            onChange.run();
                        }
                    }
                });
        setup.deadline = DEADLINE;
        return setup;
    }

    @ParameterizedTest
    @CsvSource({
        "1, .02, DETERMINISTIC",
        "1, .02, EXPONENTIAL",
        "2, .05, EXPONENTIAL",
        "4, .2, DETERMINISTIC",
        "4, .2, EXPONENTIAL"
    })
    void answersNearlyAllOfTheCapacityThatTheBackendStates(int workers, double service, Service distribution) {
        System.out.print("silent: ");
        double silent = goodput(workers, service, distribution, number(at -> SILENT));
        System.out.print("stated: ");
        assertThat(goodput(workers, service, distribution, number(at -> workers)))
                .isGreaterThanOrEqualTo(.95)
                .isGreaterThanOrEqualTo(silent - .01);
    }

    /** A number that is too high is disproved; one that is too low costs what it says. */
    @ParameterizedTest
    @CsvSource({
        "1, .02, EXPONENTIAL, 1000, .80",
        "4, .2, EXPONENTIAL, 1000, .60",
        "10, .05, EXPONENTIAL, 1000, .85",
        "4, .2, EXPONENTIAL, 1, .48",
        "10, .05, EXPONENTIAL, 1, .19"
    })
    void livesWithALiar(int workers, double service, Service distribution, int lie, double least) {
        System.out.print("says " + lie + ": ");
        assertThat(goodput(workers, service, distribution, number(at -> lie))).isGreaterThanOrEqualTo(least);
    }

    @ParameterizedTest
    @CsvSource({"1, 1000, .48", "1, 90, .48", "4, 90, .60"})
    void livesWithALiarThatAlternates(int one, int other, double least) {
        int[] turns = new int[1];
        System.out.print("says " + one + " and " + other + " in turns: ");
        assertThat(goodput(4, .2, Service.EXPONENTIAL, number(at -> turns[0]++ % 2 == 0 ? one : other)))
                .isGreaterThanOrEqualTo(least);
        System.out.print("says " + one + " and " + other + " each for a second: ");
        assertThat(goodput(4, .2, Service.EXPONENTIAL, number(at -> (long) at % 2 == 0 ? one : other)))
                .isGreaterThanOrEqualTo(least);
    }

    /** Without a statement since the last ten seconds of the overload before. */
    @ParameterizedTest
    @CsvSource({
        "1, .02, EXPONENTIAL, 1, .95",
        "4, .2, EXPONENTIAL, 4, .85",
        "10, .05, EXPONENTIAL, 10, .95",
        "20, .2, EXPONENTIAL, 20, .93",
        "4, .2, EXPONENTIAL, 1000, .85"
    })
    void goesOnByItselfAfterTheLastStatement(
            int workers, double service, Service distribution, int said, double least) {
        System.out.print("said " + said + ": ");
        double share =
                goodput(workers, service, distribution, number(at -> at < CALM + OVERLOAD - 10 ? said : SILENT), 2);
        assertThat(share).isGreaterThanOrEqualTo(least);
    }

    /** In the calm, a lie shows nothing; it must not be what the limit starts from. */
    @Test
    void startsFromNoNumberThatWasNotInUse() {
        System.out.print("said 1000 in the calm: ");
        assertThat(goodput(10, .05, Service.EXPONENTIAL, number(at -> at < CALM - 1 ? 1_000 : SILENT), 2))
                .isGreaterThanOrEqualTo(.95);
    }

    /** A load report of ORCA with each answer: the calls in the backend for each worker. */
    @ParameterizedTest
    @CsvSource({"1, .02, .95", "4, .2, .90", "10, .05, .95", "20, .2, .93"})
    void keepsToTheUtilisationThatTheBackendReports(int workers, double service, double least) {
        System.out.print("silent: ");
        goodput(workers, service, Service.EXPONENTIAL, number(at -> SILENT));
        System.out.print("utilisation: ");
        assertThat(goodput(
                        workers,
                        service,
                        Service.EXPONENTIAL,
                        (at, inBackend) -> "TEXT application_utilization=" + (double) inBackend / workers))
                .isGreaterThanOrEqualTo(least);
    }
}
