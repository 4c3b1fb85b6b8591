package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.atOnceUsers;
import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.details;
import static io.gatling.javaapi.core.CoreDsl.nothingFor;
import static io.gatling.javaapi.core.CoreDsl.rampUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.scenario;

import io.gatling.javaapi.core.Assertion;
import io.gatling.javaapi.core.OpenInjectionStep;
import io.gatling.javaapi.core.PopulationBuilder;
import io.gatling.javaapi.core.Simulation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** What the simulations have in common: callers who come at a rate, phase by phase. */
abstract class Asking extends Simulation {

    static final String WARM_UP = "warm-up";
    static final String CALM = "calm";
    static final String OVERLOAD = "overload";
    static final String AFTER = "after ";

    /** Less than any warm-up. */
    private static final Duration TICK = Duration.ofSeconds(1);

    private final Plan plan = new Plan();
    private final Callers callers = new Callers(plan);

    final List<Plan.Phase> phases() {
        return plan.phases();
    }

    /**
     * One who asks nothing, and comes a second after the schedule's beginning: that is then known, and phases count from it. Whoever comes at the beginning itself is late by
     * some tenths of a second, in which Gatling gets under way; an overload would come that much before it is looked for.
     */
    final PopulationBuilder clock() {
        return scenario("clock").exec(callers.begin(TICK)).injectOpen(nothingFor(TICK), atOnceUsers(1));
    }

    /** Callers of {@code weir.NAME.path}, {@code weir.NAME.rate} of them a second, and {@code weir.overload.rate} in an overload. */
    final PopulationBuilder callers(String name, boolean overloads) {
        double rate = Plan.number(name + ".rate");
        return scenario(name)
                .exec(callers.ask(name, Plan.text(name + ".path")))
                .injectOpen(users(rate, overloads ? Plan.number("overload.rate") : rate));
    }

    /** Slowly at first: what is cold is not what is asked about. */
    private List<OpenInjectionStep> users(double rate, double overloadRate) {
        List<OpenInjectionStep> steps = new ArrayList<>();
        Duration steady = Duration.ZERO;
        double steadyRate = rate;
        for (Plan.Phase phase : plan.phases()) {
            double wanted = phase.name().equals(OVERLOAD) ? overloadRate : rate;
            callers.plan(requests(phase.name().equals(WARM_UP) ? (1 + rate) / 2 : wanted, phase.length()));
            if (phase.name().equals(WARM_UP)) {
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

    /** At least so many; Gatling rounds, too. */
    static long requests(double rate, Duration length) {
        return Math.max(0, (long) Math.floor(rate * length.toMillis() / 1000) - 1);
    }

    /** At least so many percent succeed; nothing, where the run is not to be held to it. */
    static List<Assertion> succeed(String name, Plan.Phase phase, String percent) {
        return Plan.has(percent)
                ? List.of(details(Callers.inPhase(name, phase.name()))
                        .successfulRequests()
                        .percent()
                        .gte(Plan.number(percent)))
                : List.of();
    }

    /** 99 % of them end within so many milliseconds; nothing, where the run is not to be held to it. */
    static List<Assertion> endWithin(String name, Plan.Phase phase, String millis) {
        return Plan.has(millis)
                ? List.of(details(Callers.inPhase(name, phase.name()))
                        .responseTime()
                        .percentile(99.0)
                        .lt((int) Plan.number(millis)))
                : List.of();
    }

    @Override
    public final void before() {
        callers.prepare();
    }

    @Override
    public final void after() {
        callers.end();
    }
}
