package io.weir.perf.experiment;

import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.LoadAssertion;
import java.util.List;
import java.util.Map;

/**
 * 300 callers, each on a virtual thread, want one of ten connections for 50 ms. HikariCP lets them wait for
 * half a second, so some fail. A semaphore in front admits ten at a time, so none fails. If each of the ten
 * acquires a second connection while it holds the first, all wait for each other: a deadlock, until the
 * pool's timeout. With the first connection passed on, there is none.
 */
@Measures(
        name = "virtual-hikari",
        question = "virtual threads on a small pool, without and with the semaphore, and nested: which requests fail?",
        quickMinutes = 1,
        fullMinutes = 3,
        processes = 2)
final class VirtualHikari extends ClosedExperiment {

    private static final int CALLERS = 300;
    private static final String PATH = "/connections?guard=";

    @Override
    List<ClosedRounds> services(boolean quick) {
        int seconds = quick ? 10 : 60;
        return List.of(new ClosedRounds("ten-connections", "connections", "mvc-jdbc-virtual")
                .readyAt(PATH + "none")
                .warmUp(PATH + "none", 10, 5)
                .then("none", PATH + "none", CALLERS, seconds, LoadAssertion.SOME_FAIL)
                .then("semaphore", PATH + "semaphore", CALLERS, seconds, LoadAssertion.ALL_SUCCEED)
                .then("nested", PATH + "semaphore&acquisition=nested", CALLERS, seconds, LoadAssertion.SOME_FAIL)
                .then("once", PATH + "semaphore&acquisition=once", CALLERS, seconds, LoadAssertion.ALL_SUCCEED));
    }

    @Override
    Map<String, String> counters() {
        return Map.of("deadlocks", "sim_connections_deadlocks_total");
    }
}
