package io.weir.perf.experiment;

import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.LoadAssertion;
import java.util.List;

/**
 * A service that takes 100 ms, on WebFlux with one event loop and on Spring MVC with one request thread.
 * Neither holds that thread: WebFlux waits on a timer, MVC hands the job to another thread.
 */
@Measures(
        name = "eventloop",
        question = "one event loop or one request thread, 100 ms delay, 100 users: what does it cost?",
        quickMinutes = 2,
        fullMinutes = 3)
final class EventLoop extends ClosedExperiment {

    private static final int USERS = 100;
    /** If the users were served one after the other, they would wait up to ten seconds. */
    private static final LoadAssertion NOT_QUEUED = LoadAssertion.below("p90", 1000);

    @Override
    List<ClosedRounds> services(boolean quick) {
        int seconds = quick ? 12 : 60;
        return List.of(
                new ClosedRounds("webflux", "delay", "webflux-r2dbc", "--sim.netty.workers=1")
                        .warmUp("/delay?ms=100", USERS, 8)
                        .then("webflux", "/delay?ms=100", USERS, seconds, LoadAssertion.ALL_SUCCEED, NOT_QUEUED),
                new ClosedRounds("mvc", "delay", "mvc-jdbc", ServletBlock.oneThread("100ms", USERS))
                        .readyAt("/deferred")
                        .warmUp("/deferred", USERS, 8)
                        .then("mvc", "/deferred", USERS, seconds, LoadAssertion.ALL_SUCCEED, NOT_QUEUED));
    }
}
