package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.details;
import static io.gatling.javaapi.core.CoreDsl.rampUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.scenario;

import io.gatling.javaapi.core.Assertion;
import io.gatling.javaapi.core.OpenInjectionStep;
import io.gatling.javaapi.core.Simulation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * One backend is in trouble; its neighbour is not to notice, its own callers are to be told soon, and once it is well they are to be served again.
 *
 * <p>Phases come as {@code calm}, a fault's name, {@code after FAULT}; in {@code overload} the backend's callers come at {@code weir.overload} a second instead.
 */
public final class DoesAFailureStayContained extends Simulation {

    private static final String NEIGHBOUR = "neighbour";
    private static final String SICK = "sick";
    private static final String AFTER = "after ";

    private final Plan plan = new Plan();
    private final Callers callers = new Callers(plan);

    /** For Gatling. */
    public DoesAFailureStayContained() {
        setUp(
                        scenario(NEIGHBOUR)
                                .exec(callers.ask(NEIGHBOUR, Plan.text("neighbour.path")))
                                .injectOpen(users(Plan.number("neighbour.rate"), Plan.number("neighbour.rate"))),
                        scenario(SICK)
                                .exec(callers.ask(SICK, Plan.text("sick.path")))
                                .injectOpen(users(Plan.number("sick.rate"), Plan.number("overload.rate"))))
                .protocols(Callers.protocol())
                .assertions(assertions());
    }

    /** Slowly at first: what is cold is not what is asked about. */
    private List<OpenInjectionStep> users(double rate, double overloadRate) {
        List<OpenInjectionStep> steps = new ArrayList<>();
        Duration steady = Duration.ZERO;
        double steadyRate = rate;
        for (Plan.Phase phase : plan.phases()) {
            double wanted = phase.name().equals("overload") ? overloadRate : rate;
            if (phase.name().equals("warm-up")) {
                steps.add(rampUsersPerSec(1).to(rate).during(phase.length()));
            } else if (wanted == steadyRate) {
                steady = steady.plus(phase.length());
            } else {
                steps.add(constantUsersPerSec(steadyRate).during(steady));
                steady = phase.length();
                steadyRate = wanted;
            }
        }
        steps.add(constantUsersPerSec(steadyRate).during(steady));
        return steps;
    }

    /** Counts and orders of magnitude: how close is in the figures. */
    private List<Assertion> assertions() {
        List<Assertion> assertions = new ArrayList<>();
        for (Plan.Phase phase : plan.phases()) {
            if (phase.name().equals("calm") || phase.name().equals("warm-up")) {
                continue;
            }
            if (phase.name().startsWith(AFTER)) {
                if (Plan.has("healed.percent")) {
                    assertions.add(details(Callers.inPhase(SICK, phase.name()))
                            .successfulRequests()
                            .percent()
                            .gte(Plan.number("healed.percent")));
                }
                continue;
            }
            assertions.add(details(Callers.inPhase(NEIGHBOUR, phase.name()))
                    .successfulRequests()
                    .percent()
                    .gte(Plan.number("contained.percent")));
            if (Plan.has("sick.p99")) {
                assertions.add(details(Callers.inPhase(SICK, phase.name()))
                        .responseTime()
                        .percentile(99.0)
                        .lt((int) Plan.number("sick.p99")));
            }
        }
        return assertions;
    }

    @Override
    public void before() {
        callers.begin();
    }

    @Override
    public void after() {
        callers.end();
    }
}
