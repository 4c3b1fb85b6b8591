package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.atOnceUsers;
import static io.gatling.javaapi.core.CoreDsl.constantConcurrentUsers;
import static io.gatling.javaapi.core.CoreDsl.during;
import static io.gatling.javaapi.core.CoreDsl.nothingFor;
import static io.gatling.javaapi.core.CoreDsl.scenario;

import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.PopulationBuilder;
import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;
import io.weir.perf.simulation.LoadPlan.CallerRound;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A fixed number of callers, each with its own connection, send the next request after the answer to the
 * previous one, at once or after a time to think. Rounds have a fixed schedule, so that {@code perf/run}
 * knows when each begins.
 */
public final class ClosedModel extends Simulation {

    /**
     * Gatling's closed model adds missing users once a second, spread over that second. No user ends within
     * it.
     */
    private static final Duration ARRIVAL = Duration.ofSeconds(1);

    /**
     * Callers with a single request send it after this delay: {@code perf/run} is not exact to tenths of a
     * second.
     */
    private static final Duration SINGLE_REQUEST_DELAY = Duration.ofSeconds(1);

    private final LoadPlan plan = LoadPlan.read();
    private final Callers callers = new Callers(plan);

    public ClosedModel() {
        List<PopulationBuilder> populations = new ArrayList<>();
        Duration begin = Duration.ZERO;
        for (CallerRound round : plan.rounds()) {
            populations.add(population(round, begin));
            begin = begin.plus(round.length());
        }
        setUp(populations).protocols(callers.protocol()).assertions(plan.gatlingAssertions());
    }

    private PopulationBuilder population(CallerRound round, Duration begin) {
        ChainBuilder request = callers.request(plan.request(), round.path(), since -> round.name());
        ScenarioBuilder scenario = scenario(round.name()).exec(callers.begin(Duration.ZERO));
        return round.once()
                ? scenario.exec(request)
                        .injectOpen(nothingFor(begin.plus(SINGLE_REQUEST_DELAY)), atOnceUsers(round.callers()))
                : scenario.exec(during(round.requestPeriod())
                                .on(round.thinkMillis() == 0 ? request : request.pause(round.thinkTime())))
                        .injectClosed(
                                constantConcurrentUsers(0).during(begin),
                                constantConcurrentUsers(round.callers()).during(ARRIVAL));
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
