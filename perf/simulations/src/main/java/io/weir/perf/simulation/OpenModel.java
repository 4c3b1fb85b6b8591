package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.atOnceUsers;
import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.nothingFor;
import static io.gatling.javaapi.core.CoreDsl.rampUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.scenario;

import io.gatling.javaapi.core.OpenInjectionStep;
import io.gatling.javaapi.core.PopulationBuilder;
import io.gatling.javaapi.core.Simulation;
import io.weir.perf.simulation.LoadPlan.LoadPhase;
import io.weir.perf.simulation.LoadPlan.OpenCallers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Callers arrive at a fixed rate, phase by phase; in {@code overload} at another rate.
 * Gatling's report and the assertions name requests {@code NAME: PHASE}.
 */
public final class OpenModel extends Simulation {

    private static final String WARM_UP = "warm-up";
    private static final String OVERLOAD = "overload";

    /**
     * The clock's delay; shorter than any warm-up. Gatling needs some tenths of a second to start, so a
     * caller without a request announces the begin of the schedule after it.
     */
    private static final Duration CLOCK_DELAY = Duration.ofSeconds(1);

    private final LoadPlan plan = LoadPlan.read();
    private final List<LoadPhase> phases = plan.phases();
    private final Callers callers = new Callers(plan);

    public OpenModel() {
        List<PopulationBuilder> populations =
                new ArrayList<>(plan.callers().stream().map(this::population).toList());
        populations.addFirst(
                scenario("clock").exec(callers.begin(CLOCK_DELAY)).injectOpen(nothingFor(CLOCK_DELAY), atOnceUsers(1)));
        setUp(populations).protocols(callers.protocol()).assertions(plan.gatlingAssertions());
    }

    private PopulationBuilder population(OpenCallers open) {
        String name = open.name();
        return scenario(name)
                .exec(callers.request(name, open.path(), since -> name + ": " + phaseAt(phases, since)))
                .injectOpen(users(open));
    }

    private static String phaseAt(List<LoadPhase> phases, Duration since) {
        Duration end = Duration.ZERO;
        for (LoadPhase phase : phases) {
            end = end.plus(phase.length());
            if (since.compareTo(end) < 0) {
                return phase.name();
            }
        }
        return phases.getLast().name();
    }

    /** Ramps up in the warm-up. Phases of the same rate are one step: a boundary would disturb the rate. */
    private List<OpenInjectionStep> users(OpenCallers open) {
        List<OpenInjectionStep> steps = new ArrayList<>();
        Duration steady = Duration.ZERO;
        double rate = open.rate();
        double steadyRate = rate;
        for (LoadPhase phase : phases) {
            if (phase.name().equals(WARM_UP)) {
                callers.plan(plannedRequests((1 + rate) / 2, phase.length(), false));
                steps.add(rampUsersPerSec(1).to(rate).during(phase.length()));
                continue;
            }
            double phaseRate = phase.name().equals(OVERLOAD) ? open.overloadRate() : rate;
            callers.plan(plannedRequests(phaseRate, phase.length(), open.exponential()));
            if (phaseRate != steadyRate) {
                if (!steady.isZero()) {
                    steps.add(constant(steadyRate, steady, open.exponential()));
                }
                steady = Duration.ZERO;
                steadyRate = phaseRate;
            }
            steady = steady.plus(phase.length());
        }
        steps.add(constant(steadyRate, steady, open.exponential()));
        return steps;
    }

    private static OpenInjectionStep constant(double rate, Duration time, boolean exponential) {
        var users = constantUsersPerSec(rate).during(time);
        return exponential ? users.randomized() : users;
    }

    /** A lower bound: Gatling rounds, too; the number of exponential arrivals varies. */
    static long plannedRequests(double rate, Duration length, boolean exponential) {
        double mean = rate * length.toMillis() / 1000;
        double deviations = exponential ? 5 * Math.sqrt(mean) : 0;
        return Math.max(0, (long) Math.floor(mean - deviations) - 1);
    }

    @Override
    public void before() {
        callers.start();
    }

    @Override
    public void after() {
        callers.end();
    }
}
