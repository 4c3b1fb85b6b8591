package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.atOnceUsers;
import static io.gatling.javaapi.core.CoreDsl.constantConcurrentUsers;
import static io.gatling.javaapi.core.CoreDsl.details;
import static io.gatling.javaapi.core.CoreDsl.during;
import static io.gatling.javaapi.core.CoreDsl.nothingFor;
import static io.gatling.javaapi.core.CoreDsl.scenario;

import io.gatling.javaapi.core.Assertion;
import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.PopulationBuilder;
import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * A fixed number of callers, each on a connection of its own, who ask again when they have been answered: the closed model, as the originals have it. Rounds follow each other
 * at fixed times, so that {@code perf/run} knows when each begins.
 */
abstract class Closed extends Simulation {

    /** Gatling's closed model looks once a second, and lets those who are missing come within that second. Nobody is done so soon, so nobody is replaced. */
    private static final Duration COMING = Duration.ofSeconds(1);

    /** Those who ask once, all at the same moment, ask so long after the round's beginning: {@code perf/run} knows that to some tenths of a second only. */
    private static final Duration SURELY = Duration.ofSeconds(1);

    private final Callers callers = new Callers(new Plan());

    Closed(Function<Round, List<Assertion>> mustHold) {
        List<Round> rounds = Round.parse(Plan.text("rounds"));
        List<PopulationBuilder> populations = new ArrayList<>();
        Duration begins = Duration.ZERO;
        for (Round round : rounds) {
            populations.add(population(round, begins));
            begins = begins.plus(round.length());
        }
        setUp(populations)
                .protocols(Callers.protocol())
                .assertions(rounds.stream()
                        .filter(round -> !round.isWarmUp())
                        .flatMap(round -> mustHold.apply(round).stream())
                        .toList());
    }

    private PopulationBuilder population(Round round, Duration begins) {
        ChainBuilder ask = callers.ask(Plan.text("request"), round.path(), round.name());
        ScenarioBuilder scenario = scenario(round.name()).exec(callers.begin(Duration.ZERO));
        if (round.once()) {
            return scenario.exec(ask).injectOpen(nothingFor(begins.plus(SURELY)), atOnceUsers(round.callers()));
        }
        return scenario.exec(during(round.asking()).on(ask))
                .injectClosed(
                        constantConcurrentUsers(0).during(begins),
                        constantConcurrentUsers(round.callers()).during(COMING));
    }

    /** All are answered with 200. */
    static Assertion allSucceed(Round round) {
        return details(round.name()).failedRequests().count().is(0L);
    }

    @Override
    public void before() {
        callers.prepare();
    }

    @Override
    public void after() {
        callers.end();
    }
}
