package io.weir.limit;

import io.weir.limit.LimitSimulation.Event;
import io.weir.limit.LimitSimulation.Kind;
import io.weir.limit.LimitSimulation.Phase;
import io.weir.limit.LimitSimulation.Result;
import io.weir.limit.LimitSimulation.Service;
import io.weir.limit.LimitSimulation.Setup;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Steps of the backend in open load: its calls become slower without a queue, for 25 s, and fast again; or it
 * loses or gains workers, so that there is a queue.
 */
final class LimitSteps {

    private static final double CALM = 10;
    private static final double SLOW = 25;
    private static final List<Double> DEADLINES = List.of(.8, 1., 2.);

    /** Calls of a higher rate take too long to simulate. */
    private static final double MAX_RATE = 7_000;

    /** The longest service time, as a share of the deadline. */
    private static final double MAX_SERVICE = .8;

    /** A step of the service time, in seconds. */
    record Step(double before, double after, double rate, double deadline) {

        Result[] run(long seed) {
            Setup setup = new Setup()
                    .backend(Kind.FIFO, 1_000_000, before, Service.DETERMINISTIC)
                    .limit(LimitCases.adaptive())
                    .seed(seed)
                    .phases(
                            new Phase(CALM, rate),
                            new Phase(5, rate),
                            new Phase(SLOW - 5, rate),
                            new Phase(1, rate),
                            new Phase(10, rate),
                            new Phase(deadline, 0))
                    .events(
                            new Event(CALM, LimitSimulation.slowness(after / before)),
                            new Event(CALM + SLOW, LimitSimulation.slowness(1)));
            setup.deadline = deadline;
            return setup.run().results.toArray(Result[]::new);
        }

        Shares shares(long seed) {
            Result[] results = run(seed);
            return new Shares(
                    this,
                    (double) (results[1].answered + results[2].answered) / (results[1].offered + results[2].offered),
                    results[2].answeredShare(),
                    results[4].answeredShare());
        }

        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT, "%.0f -> %.0f ms, %.0f/s, deadline %.1f s", 1e3 * before, 1e3 * after, rate, deadline);
        }
    }

    /**
     * The answered shares of a step.
     *
     * @param slow over the 25 s after the step
     * @param settled from 5 s after the step on
     * @param back from a second after the way back on
     */
    record Shares(Step step, double slow, double settled, double back) {

        boolean isWanted() {
            return slow >= .97 && settled >= .995 && back == 1;
        }
    }

    private LimitSteps() {}

    static List<Step> all() {
        List<Step> steps = new ArrayList<>();
        double[][] multiplied = {{.005, 100}, {.005, 400}, {.02, 100}, {.02, 400}, {.05, 20}, {.1, 20}};
        double[][] pairs = {{.001, .01}, {.001, .1}, {.001, .6}, {.02, .04}, {.02, .08}, {.02, .2}, {.02, .4}, {.02, .6}
        };
        for (double deadline : DEADLINES) {
            for (double[] base : multiplied) {
                for (int factor : new int[] {2, 4, 6, 8, 12, 20}) {
                    steps.add(new Step(base[0], factor * base[0], base[1], deadline));
                }
            }
            for (double[] pair : pairs) {
                for (int demand : new int[] {4, 16, 60, 200}) {
                    steps.add(new Step(pair[0], pair[1], demand / pair[1], deadline));
                }
            }
        }
        return steps.stream()
                .filter(step -> step.rate < MAX_RATE && step.after <= MAX_SERVICE * step.deadline)
                .toList();
    }

    /** A backend whose number of workers is multiplied while the load stays. */
    record Queue(int workers, double service, double factor, double load, double deadline) {

        /** The goodput from 3 s after the step on, as a share of what is possible. */
        double goodput(long seed) {
            int before = (int) Math.ceil(factor > 1 ? workers / factor : workers);
            int after = (int) Math.ceil(factor > 1 ? workers : workers * factor);
            double rate = load * workers / service;
            Setup setup = new Setup()
                    .backend(Kind.FIFO, before, service, Service.DETERMINISTIC)
                    .limit(LimitCases.adaptive())
                    .seed(seed)
                    .phases(new Phase(CALM, rate), new Phase(3, rate), new Phase(17, rate))
                    .events(new Event(CALM, LimitSimulation.workers(after)));
            setup.deadline = deadline;
            LimitSimulation simulation = setup.run();
            return simulation.results.get(2).goodput / simulation.possible(2, after / service);
        }
    }

    static List<Queue> queues() {
        List<Queue> queues = new ArrayList<>();
        double[][] backends = {{10, .05}, {40, .02}, {64, .05}};
        for (double deadline : List.of(.8, 2.)) {
            for (double[] backend : backends) {
                for (double factor : new double[] {.5, .25, 2, 4}) {
                    for (double load : new double[] {.75, 4}) {
                        queues.add(new Queue((int) backend[0], backend[1], factor, load, deadline));
                    }
                }
            }
        }
        return queues;
    }
}
